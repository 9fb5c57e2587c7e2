// Model files on the command line: what is said of them, and what a name stands for.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A GGUF file of version 3 that says its place and nothing else.
std::string part(std::uint16_t number, std::uint16_t count) {
  std::string file =
      "GGUF" + bytes_of(std::uint32_t{3}) + bytes_of(std::uint64_t{0}) + bytes_of(std::uint64_t{2});
  const auto add_u16 = [&file](const std::string& key, std::uint16_t value) {
    file +=
        bytes_of(std::uint64_t{key.size()}) + key + bytes_of(std::uint32_t{2}) + bytes_of(value);
  };
  add_u16("split.no", std::uint16_t(number - 1));
  add_u16("split.count", count);
  return file;
}

TEST(Models, info_says_in_how_many_parts_a_model_lies) {
  const Folder home;
  const auto first = home.write("big-00001-of-00002.gguf", part(1, 2));
  const auto second = home.write("big-00002-of-00002.gguf", part(2, 2));
  const Finished text = run(home, {"info", second.string()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find(" bytes in 2 parts\n"), std::string::npos) << text.out;
  const auto json = run(home, {"info", first.string(), "--json"}).json();
  EXPECT_EQ(json["parts"], 2);
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(first) + std::filesystem::file_size(second));
  EXPECT_EQ(run(home, {"info", kBundledModel}).out.find("parts\n"), std::string::npos);
  EXPECT_EQ(run(home, {"info", kBundledModel, "--json"}).json()["parts"], 1);
}

TEST(Models, a_folder_for_a_model_is_refused_with_words) {
  const Folder home;
  const Finished chat = run(home, {"chat", "--prompt", "Hi", "--model", home.string()});
  EXPECT_EQ(chat.exit_code, 7);
  EXPECT_NE(chat.err.find("it is a folder; name a GGUF file in it. [MODEL_READ]"),
            std::string::npos)
      << chat.err;
}

}  // namespace
}  // namespace satchel::test
