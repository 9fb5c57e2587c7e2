// The public test vectors of llama.cpp, read from beside the project; a machine without them skips
// by name.
#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using namespace tokenizer_tests;

// Text, a line of its own that separates, text … ; the last text has no separator after it.
std::vector<std::string> texts_of(const std::string& all) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = all.find(separator, begin);
    if (end == std::string::npos) return texts;
    texts.push_back(all.substr(begin, end - begin));
    begin = end + separator.size();
  }
}

std::vector<std::vector<TokenId>> ids_of(const std::string& all) {
  std::vector<std::vector<TokenId>> lines;
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    lines.emplace_back();
    for (TokenId id = 0; numbers >> id;) lines.back().push_back(id);
  }
  return lines;
}

class PublicVectors : public testing::TestWithParam<std::string> {};

TEST_P(PublicVectors, give_the_published_ids) {
  const auto path = vocabulary_file(GetParam());
  if (path.empty()) GTEST_SKIP() << "the vectors of " << GetParam() << " are not on this machine";
  const auto tokenizer = open_tokenizer(path);
  ASSERT_TRUE(tokenizer);
  const auto texts = texts_of(file_text(path.string() + ".inp"));
  const auto expected = ids_of(file_text(path.string() + ".out"));
  ASSERT_GT(texts.size(), 40u);
  ASSERT_EQ(texts.size(), expected.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto got = ids(*tokenizer, texts[i]);
    EXPECT_EQ(got, expected[i]) << "text " << i << ": " << texts[i];
    EXPECT_EQ(tokenizer->text(got), texts[i]) << "text " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, PublicVectors,
                         testing::Values("llama-spm", "phi-3", "gpt-2", "starcoder", "refact",
                                         "deepseek-coder"),
                         test_name);

}  // namespace
}  // namespace satchel::runtime
