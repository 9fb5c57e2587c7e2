// Vocabularies from files nobody vouches for: refused with the place named, or mended, never a
// crash.
#include <gmock/gmock.h>

#include "support/gguf_writer.h"
#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using namespace tokenizer_tests;
using testing::HasSubstr;

// The message of a refusal; "" if it was made.
std::string refusal(Vocabulary v) {
  const auto made = Tokenizer::make(std::move(v));
  if (made.ok()) return "";
  EXPECT_EQ(made.error().code, "MODEL_TOKENIZER");
  return made.error().message;
}

Vocabulary spm() {
  return sentencepiece_vocabulary({"\u2581", "a", "b", "ab"});
}
Vocabulary bpe() {
  Vocabulary v = byte_vocabulary({"<|im_end|>"});
  v.pieces.push_back("ab");
  v.types.push_back(PieceType::normal);
  v.merges = {"a b"};
  return v;
}

TEST(Vocabulary, the_two_that_the_others_are_made_from_are_good) {
  EXPECT_EQ(refusal(spm()), "");
  EXPECT_EQ(refusal(bpe()), "");
}

TEST(Vocabulary, lists_of_different_lengths_are_refused) {
  Vocabulary v = spm();
  v.types.pop_back();
  EXPECT_THAT(refusal(v), HasSubstr("types"));
  v = bpe();
  v.types.resize(3);
  EXPECT_THAT(refusal(v), HasSubstr("types"));
  v = spm();
  v.scores.clear();
  EXPECT_THAT(refusal(v), HasSubstr("0 scores"));
  v = spm();
  v.scores.push_back(0);
  EXPECT_THAT(refusal(v), HasSubstr("scores"));
}

TEST(Vocabulary, without_pieces_it_is_refused) {
  EXPECT_THAT(refusal(Vocabulary{}), HasSubstr("no pieces"));
  Vocabulary v;
  v.kind = VocabularyKind::byte_bpe;
  v.pre = "gpt-2";
  EXPECT_THAT(refusal(v), HasSubstr("no pieces"));
}

TEST(Vocabulary, a_piece_listed_twice_is_refused) {
  Vocabulary v = spm();
  respell(v.pieces, 260, v.pieces[259]);
  EXPECT_THAT(refusal(v), HasSubstr("twice"));
  v = bpe();
  respell(v.pieces, 257, "a");
  EXPECT_THAT(refusal(v), HasSubstr("twice"));
}

TEST(Vocabulary, pieces_that_are_no_text_are_refused) {
  for (const std::string& piece :
       {std::string("\xff"), std::string(1025, 'x'), std::string(), std::string("x\0y", 3)}) {
    Vocabulary v = spm();
    respell(v.pieces, 260, piece);
    EXPECT_NE(refusal(v), "");
  }
  Vocabulary v = bpe();
  respell(v.pieces, 256, "\xc3");
  EXPECT_THAT(refusal(v), HasSubstr("not UTF-8"));
}

TEST(Vocabulary, an_empty_piece_of_byte_level_bpe_is_never_used) {
  Vocabulary v = bpe();
  v.pieces.push_back("");
  v.pieces.push_back("");
  v.types.resize(v.pieces.size(), PieceType::control);
  const auto tokenizer = make_tokenizer(v);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(ids(*tokenizer, "ab", SpecialText::parse), std::vector<TokenId>{257});
}

TEST(Vocabulary, scores_that_are_no_numbers_are_refused) {
  Vocabulary v = spm();
  v.scores[260] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal(v), HasSubstr("NaN"));
  v.scores[260] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal(v), "");
}

TEST(Vocabulary, ids_beyond_the_pieces_are_refused) {
  for (const TokenId id : {-1, 263, INT32_MAX}) {
    Vocabulary v = spm();
    v.bos = id;
    EXPECT_THAT(refusal(v), HasSubstr("bos"));
    v = spm();
    v.unknown = id;
    EXPECT_THAT(refusal(v), HasSubstr("unknown"));
  }
}

TEST(Vocabulary, sentencepiece_needs_an_unknown_piece) {
  Vocabulary v = spm();
  v.unknown.reset();
  v.types[0] = PieceType::normal;
  EXPECT_EQ(refusal(v), "") << "found by its name";
  respell(v.pieces, 0, "other");
  EXPECT_THAT(refusal(v), HasSubstr("no unknown piece"));
}

TEST(Vocabulary, more_than_one_unknown_piece_is_mended) {
  Vocabulary v = spm();
  v.types[0] = PieceType::control;  // Phi-3's files have both
  v.types[260] = v.types[261] = PieceType::unknown;
  ASSERT_TRUE(v.check_and_mend().ok());
  EXPECT_EQ(v.types[0], PieceType::unknown);
  EXPECT_EQ(v.types[260], PieceType::unused);
  EXPECT_EQ(refusal(v), "");
}

TEST(Vocabulary, some_but_not_all_byte_pieces_are_refused) {
  Vocabulary v = spm();
  v.types[3] = PieceType::control;
  EXPECT_THAT(refusal(v), HasSubstr("255 of the 256"));
  v = spm();
  respell(v.pieces, 3, "<0x-1>");
  EXPECT_THAT(refusal(v), HasSubstr("marked as a byte"));
  respell(v.pieces, 3, "<0xG0>");
  EXPECT_THAT(refusal(v), HasSubstr("marked as a byte"));
}

TEST(Vocabulary, byte_pieces_listed_as_normal_are_mended) {
  Vocabulary v = spm();
  std::replace(v.types.begin(), v.types.end(), PieceType::byte, PieceType::normal);
  const auto tokenizer = make_tokenizer(v);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->text(ids(*tokenizer, "é")), "é");
}

TEST(Vocabulary, sentencepiece_without_byte_pieces_reads_strange_text_as_unknown) {
  Vocabulary v;
  v.pieces = {"<unk>", "\u2581", "a"};
  v.types = {PieceType::unknown, PieceType::normal, PieceType::normal};
  v.scores = {0, -1, -2};
  const auto tokenizer = make_tokenizer(v);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(ids(*tokenizer, "a?"), (std::vector<TokenId>{1, 2, 0}));
}

TEST(Vocabulary, merges_that_make_no_sense_are_refused_with_their_place) {
  for (const std::string merge :
       {"a zz", "zz a", "b a", "a", "", " ", "a ", " b", "a b c", "a  b", "< |im_end|>"}) {
    Vocabulary v = bpe();
    v.merges.push_back(merge);
    EXPECT_THAT(refusal(v), HasSubstr("Entry 1 of tokenizer.ggml.merges")) << merge;
  }
}

TEST(Vocabulary, merging_never_makes_a_control_token) {
  Vocabulary v = byte_vocabulary({"ab"});
  v.merges = {"a b"};
  EXPECT_THAT(refusal(v), HasSubstr("Entry 0"));
}

TEST(Vocabulary, an_unknown_pre_tokeniser_is_refused_with_the_list) {
  for (const std::string pre : {"", "default", "falcon"}) {
    Vocabulary v = bpe();
    v.pre = pre;
    EXPECT_THAT(refusal(v), HasSubstr("smollm, starcoder, refact, command-r, llama-bpe"));
  }
}

// As converters write Gemma's.
TEST(Vocabulary, runs_of_spaces_that_a_file_defines_are_found_in_a_text) {
  Vocabulary v = spm();
  v.adds_space_prefix = false;
  v.pieces.push_back("  ");
  v.types.push_back(PieceType::user_defined);
  v.scores.push_back(0);
  const auto tokenizer = make_tokenizer(v);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(ids(*tokenizer, "a  b"), (std::vector<TokenId>{260, 263, 261}));
  EXPECT_EQ(tokenizer->text(std::vector<TokenId>{260, 263, 261}), "a  b");
}

// Gemma's vocabulary has the tags of HTML, and other tokens to begin and end a text.
TEST(Vocabulary, s_in_angle_brackets_is_a_tag_where_a_text_ends_otherwise) {
  Vocabulary v = bpe();
  v.pieces.add({"<bos>", "<eos>", "<s>", "</s>"});
  v.types.insert(v.types.end(), {PieceType::control, PieceType::control, PieceType::user_defined,
                                 PieceType::user_defined});
  EXPECT_TRUE(make_tokenizer(v)->control("</s>"));
  v.bos = 260;
  v.eos = 259;
  EXPECT_TRUE(make_tokenizer(v)->control("</s>")) << "Phi-3 begins with one and ends otherwise";
  v.bos = 258;
  const auto tokenizer = make_tokenizer(v);
  EXPECT_FALSE(tokenizer->control("</s>"));
  EXPECT_EQ(ids(*tokenizer, "<s></s>"), (std::vector<TokenId>{260, 261}));
}

// gpt-oss thinks in one message and answers in the next.
TEST(Vocabulary, the_end_of_a_message_ends_no_turn_where_messages_have_channels) {
  Vocabulary v = bpe();
  v.pieces.add({"<|end|>", "<|return|>", "<|call|>"});
  v.types.insert(v.types.end(), 3, PieceType::control);
  v.eot = 258;
  EXPECT_TRUE(make_tokenizer(v)->ends_turn(258));
  v.pieces.add({"<|channel|>"});
  v.types.push_back(PieceType::control);
  const auto tokenizer = make_tokenizer(v);
  EXPECT_FALSE(tokenizer->ends_turn(258));
  EXPECT_TRUE(tokenizer->ends_turn(259));
  EXPECT_TRUE(tokenizer->ends_turn(260));
}

TEST(Vocabulary, turn_markers_are_control_tokens_whatever_the_file_says) {
  Vocabulary v = bpe();
  v.pieces.add({"<|EOT|>", "<end_of_turn>", "<｜User｜>", "<table>"});
  v.types.insert(v.types.end(), 4, PieceType::user_defined);
  const auto tokenizer = make_tokenizer(v);
  ASSERT_TRUE(tokenizer);
  for (const char* name : {"<|EOT|>", "<end_of_turn>", "<｜User｜>"}) {
    EXPECT_TRUE(tokenizer->control(name)) << name;
    EXPECT_EQ(tokenizer->text(ids(*tokenizer, name)), name);
  }
  EXPECT_TRUE(tokenizer->ends_turn(258));
  EXPECT_FALSE(tokenizer->ends_turn(260));
  EXPECT_EQ(ids(*tokenizer, "<table>"), std::vector<TokenId>{261});
}

TEST(Vocabulary, words_that_are_pieces_ignore_merges_where_the_model_does) {
  Vocabulary v = bpe();
  v.pieces.push_back("abc");
  v.types.push_back(PieceType::normal);
  EXPECT_EQ(ids(*make_tokenizer(v), "abc"), (std::vector<TokenId>{257, 'c'}));
  v.pre = "llama-bpe";
  EXPECT_EQ(ids(*make_tokenizer(v), "abc abcd"), (std::vector<TokenId>{258, ' ', 257, 'c', 'd'}));
}

// Files.

tests::GgufWriter file_of(const Vocabulary& v) {
  tests::GgufWriter w;
  w.add_string("general.architecture", "llama");
  w.add_string("tokenizer.ggml.model", v.kind == VocabularyKind::sentencepiece ? "llama" : "gpt2");
  w.add_string_array("tokenizer.ggml.tokens", texts_of(v.pieces));
  std::vector<std::int32_t> types;
  for (const PieceType type : v.types) types.push_back(static_cast<std::int32_t>(type));
  w.add_i32_array("tokenizer.ggml.token_type", types);
  if (v.kind == VocabularyKind::sentencepiece) {
    w.add_f32_array("tokenizer.ggml.scores", v.scores);
  } else {
    w.add_string("tokenizer.ggml.pre", v.pre);
    w.add_string_array("tokenizer.ggml.merges", texts_of(v.merges));
  }
  return w;
}

Result<std::unique_ptr<Tokenizer>> opened(const tests::GgufWriter& writer) {
  const auto bytes = writer.bytes();
  const auto file = GgufFile::view(bytes);
  if (!file.ok()) return file.error();
  return Tokenizer::open(*file);
}

TEST(VocabularyFile, says_what_its_keys_say) {
  auto w = file_of(spm());
  w.add_u32("tokenizer.ggml.bos_token_id", 1).add_u32("tokenizer.ggml.eos_token_id", 2);
  w.add_bool("tokenizer.ggml.add_bos_token", false);
  w.add_bool("tokenizer.ggml.add_space_prefix", false);
  const auto tokenizer = opened(w);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->kind(), VocabularyKind::sentencepiece);
  EXPECT_EQ((*tokenizer)->bos(), 1);
  EXPECT_EQ((*tokenizer)->eos(), 2);
  EXPECT_FALSE((*tokenizer)->adds_bos());
  EXPECT_FALSE((*tokenizer)->adds_space_prefix());
  EXPECT_TRUE((*tokenizer)->ends_turn(2));
  EXPECT_EQ(ids(**tokenizer, "ab"), std::vector<TokenId>{262});
}

// Saved chats carry the hash: what we mend, now or in a later version, must not make it another.
TEST(VocabularyFile, its_hash_is_of_what_the_file_says_not_of_what_was_mended) {
  Vocabulary wrong = spm();
  for (PieceType& type : wrong.types)
    if (type == PieceType::byte) type = PieceType::normal;
  const auto right = opened(file_of(spm())), mended = opened(file_of(wrong));
  ASSERT_TRUE(right.ok() && mended.ok());
  EXPECT_EQ(ids(**right, "ab\n"), ids(**mended, "ab\n"));
  EXPECT_NE((*right)->hash(), (*mended)->hash());
}

TEST(VocabularyFile, absent_keys_mean_what_the_first_models_of_the_kind_did) {
  const auto first = opened(file_of(spm()));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE((*first)->adds_bos());
  EXPECT_TRUE((*first)->adds_space_prefix());
  const auto second = opened(file_of(bpe()));
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_FALSE((*second)->adds_bos());
  EXPECT_FALSE((*second)->adds_space_prefix());
}

TEST(VocabularyFile, without_a_tokenizer_or_with_a_strange_one_is_refused) {
  tests::GgufWriter none;
  none.add_string("general.architecture", "llama");
  EXPECT_THAT(opened(none).error().message, HasSubstr("weights but no tokenizer"));
  for (const char* model : {"bert", "t5", "rwkv", "", "no_vocab"}) {
    tests::GgufWriter w;
    w.add_string("tokenizer.ggml.model", model);
    w.add_string_array("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
    const auto tokenizer = opened(w);
    ASSERT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(tokenizer.error().code, "MODEL_TOKENIZER");
  }
}

TEST(VocabularyFile, values_of_the_wrong_kind_are_refused) {
  Vocabulary v = spm();
  tests::GgufWriter w;
  w.add_string("tokenizer.ggml.model", "llama");
  w.add_string_array("tokenizer.ggml.tokens", texts_of(v.pieces));
  w.add_u8_array("tokenizer.ggml.scores", std::vector<std::uint8_t>(v.pieces.size()));
  const auto scores = opened(w);
  ASSERT_FALSE(scores.ok());
  EXPECT_EQ(scores.error().code, "MODEL_METADATA");

  auto strange = file_of(v);
  strange.add_u32("tokenizer.ggml.eos_token_id", 0xFFFFFFFFu);
  EXPECT_THAT(opened(strange).error().message, HasSubstr("eos_token_id"));
  tests::GgufWriter types;
  types.add_string("tokenizer.ggml.model", "llama");
  types.add_string_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
  types.add_i32_array("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 7});
  EXPECT_THAT(opened(types).error().message, HasSubstr("of piece 1 is 7"));
  tests::GgufWriter bare;
  bare.add_string("tokenizer.ggml.model", "gpt2");
  bare.add_string_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
  EXPECT_THAT(opened(bare).error().message, HasSubstr("no merges"));
}

}  // namespace
}  // namespace satchel::runtime
