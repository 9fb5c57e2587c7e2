// The public test vectors of llama.cpp, read from beside the project; a machine without them skips
// by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/gguf/reader.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {
namespace {

const std::filesystem::path kVectors =
    std::filesystem::path(SATCHEL_SHARED_DIR) / "models/ggml-vocab";

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

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

class PublicVectors : public testing::TestWithParam<const char*> {};

TEST_P(PublicVectors, give_the_published_ids) {
  const auto path = kVectors / (std::string("ggml-vocab-") + GetParam() + ".gguf");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path.filename();
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto tokenizer = Tokenizer::open(*file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto texts = texts_of(file_text(path.string() + ".inp"));
  const auto ids = ids_of(file_text(path.string() + ".out"));
  ASSERT_GT(texts.size(), 40u);
  ASSERT_EQ(texts.size(), ids.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto got = (*tokenizer)->encode(texts[i], SpecialText::as_text);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(*got, ids[i]) << "text " << i << ": " << texts[i];
    EXPECT_EQ((*tokenizer)->text(*got), texts[i]) << "text " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, PublicVectors,
                         testing::Values("llama-spm", "phi-3", "gpt-2", "starcoder", "refact",
                                         "deepseek-coder"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace satchel::runtime
