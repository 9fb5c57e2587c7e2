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
                                         "deepseek-coder", "llama-spm", "phi-3"),
                         test_name);

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
                         testing::Values("gpt-2", "smollm", "llama-bpe", "qwen2", "deepseek-coder"),
                         test_name);

TEST(Words, starcoder_and_refact_cut_as_smollm_does) {
  for (const std::string name : {"starcoder", "refact"}) {
    const auto pretokenizer = Pretokenizer::named(name);
    ASSERT_TRUE(pretokenizer.ok());
    for (const Case& each : cases("smollm.words")) {
      std::vector<TokenId> bytes;
      ASSERT_TRUE(pretokenizer
                      ->split(each.text,
                              [&](std::string_view word) {
                                bytes.push_back(static_cast<TokenId>(word.size()));
                              })
                      .ok());
      EXPECT_EQ(bytes, each.numbers) << each.text;
    }
  }
}

}  // namespace
}  // namespace satchel::runtime
