// What sentencepiece itself makes of texts, with small vocabularies of all kinds: pieces that are
// never used, user-defined ones that overlap, equal scores, with and without byte pieces.
#include <gmock/gmock.h>

#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using namespace tokenizer_tests;

struct SmallVocabulary {
  Vocabulary vocabulary;
  std::vector<Case> texts;
};

void begin_vocabulary(Vocabulary& v, bool has_bytes, bool has_prefix) {
  if (has_bytes) {
    v = sentencepiece_vocabulary({});
    // As in the fixture: unknown, bos, bytes.
    PieceList pieces = {"<unk>", "<s>"};
    for (std::size_t i = 3; i < v.pieces.size(); ++i) pieces.push_back(v.pieces[i]);
    v.pieces = std::move(pieces);
    v.types.erase(v.types.begin() + 2);
    v.scores.pop_back();
  } else {
    v.pieces = {"<unk>", "<s>"};
    v.types = {PieceType::unknown, PieceType::control};
    v.scores = {0, 0};
    v.unknown = 0;
  }
  v.bos = 1;
  v.eos.reset();
  v.adds_space_prefix = has_prefix;
}

std::vector<SmallVocabulary> small_vocabularies() {
  std::vector<SmallVocabulary> read;
  std::ifstream in(kGolden / "sentencepiece-small.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "vocabulary") {
      bool has_bytes = false, has_prefix = false;
      words >> has_bytes >> has_prefix;
      begin_vocabulary(read.emplace_back().vocabulary, has_bytes, has_prefix);
    } else if (kind == "piece") {
      int type = 0;
      float score = 0;
      std::string spelling;
      words >> type >> score >> spelling;
      Vocabulary& v = read.back().vocabulary;
      v.pieces.push_back(unescaped(spelling));
      v.types.push_back(static_cast<PieceType>(type));
      v.scores.push_back(score);
    } else {
      Case& text = read.back().texts.emplace_back(Case{unescaped(line.substr(5)), {}});
      std::getline(in, line);
      std::istringstream numbers(line);
      for (TokenId number = 0; numbers >> number;) text.numbers.push_back(number);
    }
  }
  return read;
}

TEST(SentencePiece, small_vocabularies_read_texts_as_sentencepiece_does) {
  const std::vector<SmallVocabulary> read = small_vocabularies();
  ASSERT_EQ(read.size(), 12u);
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto tokenizer = make_tokenizer(read[i].vocabulary);
    ASSERT_TRUE(tokenizer) << i;
    ASSERT_EQ(read[i].texts.size(), 24u);
    for (const Case& text : read[i].texts)
      EXPECT_EQ(ids(*tokenizer, text.text), text.numbers) << i << ": " << text.text;
  }
}

TEST(SentencePiece, a_control_token_of_one_character_is_unknown_in_a_text) {
  Vocabulary v = sentencepiece_vocabulary({"\u2581", "a", "\u00a7"});
  v.types.back() = PieceType::control;
  v.adds_space_prefix = false;
  const auto tokenizer = make_tokenizer(v);
  ASSERT_TRUE(tokenizer);
  const TokenId first_byte = 3;
  EXPECT_EQ(ids(*tokenizer, "a\u00a7"),
            (std::vector<TokenId>{260, first_byte + 0xC2, first_byte + 0xA7}));
  EXPECT_EQ(ids(*tokenizer, "a\u00a7", SpecialText::parse), (std::vector<TokenId>{260, 261}));
}

TEST(SentencePiece, a_text_without_spaces_takes_no_longer_than_its_length_asks) {
  const auto tokenizer = make_tokenizer(sentencepiece_vocabulary({"a", "aa", "aaaa", "aaaaaaaa"}));
  ASSERT_TRUE(tokenizer);
  // Quadratic work over 40,000 characters would not end in a test's time.
  EXPECT_EQ(ids(*tokenizer, std::string(40000, 'a')).size(), 40000u / 8 + 3);
}

// Words are joined one by one only where that changes nothing.
TEST(SentencePiece, a_piece_that_goes_on_over_a_space_is_found) {
  const std::string mark(kSpaceMark);
  const std::vector<std::string> whole = {mark, "a", "b", mark + "b", "a" + mark + "b"};
  const auto with = make_tokenizer(sentencepiece_vocabulary(whole));
  const auto without = make_tokenizer(sentencepiece_vocabulary({whole.begin(), whole.end() - 1}));
  ASSERT_TRUE(with && without);
  EXPECT_EQ(ids(*with, "a b").size() + 1, ids(*without, "a b").size());
}

TEST(SentencePiece, a_run_that_nothing_cuts_is_cut_when_it_is_longer_than_any_word) {
  const auto tokenizer = make_tokenizer(sentencepiece_vocabulary({"a", "aa", "aaaa", "aaaaaaaa"}));
  ASSERT_TRUE(tokenizer);
  const std::size_t n = (std::size_t{5} << 20) + 77;
  const std::vector<TokenId> got = ids(*tokenizer, std::string(n, 'a'));
  EXPECT_NEAR(static_cast<double>(got.size()), static_cast<double>(n) / 8, 40);
  EXPECT_TRUE(tokenizer->text(got) == std::string(kSpaceMark) + std::string(n, 'a'));
}

}  // namespace
}  // namespace satchel::runtime
