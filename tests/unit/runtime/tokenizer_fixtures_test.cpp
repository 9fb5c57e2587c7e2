// Ids and words as the models' own tokenizers give them (tests/golden/tokenizer/README.md).
#include "runtime/tokenizer/pretokenizer.h"
#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using namespace tokenizer_tests;

class ModelsOwnIds : public testing::TestWithParam<std::string> {};

TEST_P(ModelsOwnIds, are_given_for_scripts_code_emoji_and_odd_white_space) {
  const auto path = vocabulary_file(GetParam());
  if (path.empty()) GTEST_SKIP() << "the vocabulary of " << GetParam() << " is not on this machine";
  const auto tokenizer = open_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  const auto all = cases(GetParam() + ".ids");
  ASSERT_GT(all.size(), 50u);
  for (const Case& each : all) EXPECT_EQ(ids(*tokenizer, each.text), each.numbers) << each.text;
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, ModelsOwnIds,
                         testing::Values("notes-mini", "smollm2", "gpt-2", "starcoder", "refact",
                                         "deepseek-coder", "llama-spm", "phi-3", "gemma-3"),
                         test_name);

// A vocabulary and its texts from one file (tests/oracle/make_marked_bpe_fixtures.py).
struct MarkedBpe {
  Vocabulary vocabulary;
  std::vector<Case> cases;
};

MarkedBpe marked_bpe() {
  MarkedBpe read;
  read.vocabulary.kind = VocabularyKind::marked_bpe;
  read.vocabulary.adds_space_prefix = false;
  std::istringstream in(file_text(kGolden / "marked-bpe.txt"));
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    const std::string key = line.substr(0, space), rest = line.substr(space + 1);
    if (key == "piece") {
      const std::size_t end = rest.find(' ');
      read.vocabulary.types.push_back(static_cast<PieceType>(std::stoi(rest.substr(0, end))));
      read.vocabulary.pieces.push_back(unescaped(rest.substr(end + 1)));
    } else if (key == "merge") {
      read.vocabulary.merges.push_back(unescaped(rest));
    } else if (key == "text") {
      read.cases.push_back({unescaped(rest), {}});
    } else {
      std::istringstream numbers(rest);
      for (TokenId id = 0; numbers >> id;) read.cases.back().numbers.push_back(id);
    }
  }
  return read;
}

TEST(MarkedBpe, gives_the_ids_of_tokenizers_and_the_text_back) {
  const MarkedBpe golden = marked_bpe();
  const auto tokenizer = make_tokenizer(golden.vocabulary);
  ASSERT_TRUE(tokenizer);
  ASSERT_GT(golden.cases.size(), 50u);
  for (const Case& each : golden.cases) {
    EXPECT_EQ(ids(*tokenizer, each.text), each.numbers) << each.text;
    if (each.text.find(kSpaceMark) == std::string::npos) {  // it comes back as a space
      EXPECT_EQ(tokenizer->text(each.numbers), each.text);
    }
  }
}

TEST(MarkedBpe, half_markers_are_control_tokens_whatever_the_file_says) {
  MarkedBpe golden = marked_bpe();
  for (const char* piece : {"<|turn>", "<turn|>", "<|\"|>", "<|>"}) {
    golden.vocabulary.pieces.push_back(piece);
    golden.vocabulary.types.push_back(PieceType::user_defined);
  }
  const auto tokenizer = make_tokenizer(golden.vocabulary);
  ASSERT_TRUE(tokenizer);
  EXPECT_TRUE(tokenizer->control("<|turn>") && tokenizer->control("<|\"|>"));
  EXPECT_FALSE(tokenizer->control("<|>").has_value());
  EXPECT_TRUE(tokenizer->ends_turn(*tokenizer->control("<turn|>")));
  EXPECT_EQ(tokenizer->text(ids(*tokenizer, "<|turn>user")), "<|turn>user") << "text stays text";
}

class Words : public testing::TestWithParam<std::string> {};

TEST_P(Words, are_cut_as_the_published_patterns_cut_them) {
  const auto pretokenizer = Pretokenizer::named(GetParam());
  ASSERT_TRUE(pretokenizer.ok());
  const auto all = cases(GetParam() + ".words");
  ASSERT_GT(all.size(), 50u);
  for (const Case& each : all) {
    std::vector<TokenId> bytes;
    const auto split = pretokenizer->split(each.text, [&](std::string_view word) {
      bytes.push_back(static_cast<TokenId>(word.size()));
    });
    ASSERT_TRUE(split.ok());
    EXPECT_EQ(bytes, each.numbers) << each.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Names, Words,
                         testing::Values("gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35",
                                         "seed-coder", "tekken", "gpt-4o", "deepseek-coder",
                                         "deepseek-llm", "deepseek-v3"),
                         test_name);

// Files name models; which of them cut alike is the published patterns' word.
TEST(Words, are_cut_alike_under_the_names_of_models_that_share_a_pattern) {
  const std::pair<std::string, std::vector<std::string>> shared[] = {
      {"gpt-2", {"phi-2", "mpt", "olmo"}},
      {"smollm", {"starcoder", "refact", "command-r"}},
      {"llama-bpe",
       {"llama3", "llama-v3", "falcon3", "pixtral", "dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}},
      {"qwen2", {"deepseek-r1-qwen", "stablelm2", "megrez"}},
      {"gpt-4o", {"llama4"}}};
  for (const auto& [golden, names] : shared)
    for (const std::string& name : names) {
      const auto pretokenizer = Pretokenizer::named(name);
      ASSERT_TRUE(pretokenizer.ok()) << name;
      for (const Case& each : cases(golden + ".words")) {
        std::vector<TokenId> bytes;
        ASSERT_TRUE(pretokenizer
                        ->split(each.text,
                                [&](std::string_view word) {
                                  bytes.push_back(static_cast<TokenId>(word.size()));
                                })
                        .ok());
        EXPECT_EQ(bytes, each.numbers) << name << ": " << each.text;
      }
    }
}

TEST(Words, of_llama_3_and_tekken_ignore_merges_and_their_texts_begin_with_bos) {
  for (const std::string_view name : Pretokenizer::names()) {
    const bool is_one = name == "llama-bpe" || name == "llama3" || name == "llama-v3" ||
                        name == "falcon3" || name == "pixtral" || name == "tekken" ||
                        name == "lfm2";
    EXPECT_EQ(Pretokenizer::named(name)->ignores_merges(), is_one) << name;
    EXPECT_EQ(Pretokenizer::adds_bos_by_default(name), is_one) << name;
  }
  EXPECT_FALSE(Pretokenizer::adds_bos_by_default("unheard-of"));
}

}  // namespace
}  // namespace satchel::runtime
