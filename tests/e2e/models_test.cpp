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
  EXPECT_NE(text.out.find(" bytes in 2 shards\n"), std::string::npos) << text.out;
  const auto json = run(home, {"info", first.string(), "--json"}).json();
  EXPECT_EQ(json["parts"], 2);
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(first) + std::filesystem::file_size(second));
  EXPECT_EQ(run(home, {"info", kBundledModel}).out.find("parts\n"), std::string::npos);
  EXPECT_EQ(run(home, {"info", kBundledModel, "--json"}).json()["parts"], 1);
}

TEST(Models, a_name_that_begins_two_models_is_answered_with_both) {
  const Folder home;
  const auto models = home.path() / ".local/share/satchel/models";
  std::filesystem::create_directories(models);
  for (const char* name : {"big-a.gguf", "big-b.gguf"})
    std::filesystem::copy_file(home.write(name, part(1, 1)), models / name);
  for (const Arguments& arguments : {Arguments{"info", "Big"}, {"chat", "-p", "Hi", "-m", "Big"}}) {
    const Finished refused = run(home, arguments);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("\"Big\" matches several models: big-a, big-b. Type "
                               "more of the name. [PARAM]"),
              std::string::npos)
        << refused.err;
  }
}

TEST(Models, an_architecture_that_is_not_known_is_refused_with_the_file_and_what_to_do) {
  const Folder home;
  const std::string key = "general.architecture", name = "mamba";
  const auto file = home.write(
      "other.gguf", "GGUF" + bytes_of(std::uint32_t{3}) + bytes_of(std::uint64_t{0}) +
                        bytes_of(std::uint64_t{1}) + bytes_of(std::uint64_t{key.size()}) + key +
                        bytes_of(std::uint32_t{8}) + bytes_of(std::uint64_t{name.size()}) + name);
  const Finished chat = run(home, {"chat", "-p", "Hi", "--model", file.string()});
  EXPECT_EQ(chat.exit_code, 4);
  EXPECT_NE(
      chat.err.find("other.gguf\" does not run here: The architecture \"mamba\" is not supported."),
      std::string::npos)
      << chat.err;
  EXPECT_NE(chat.err.find("Choose another model. [MODEL_ARCH]"), std::string::npos) << chat.err;
  const Finished info = run(home, {"info", file.string()});
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_NE(
      info.out.find("Satchel cannot run this model: The architecture \"mamba\" is not supported."),
      std::string::npos)
      << info.out;
  EXPECT_TRUE(run(home, {"info", file.string(), "--json"}).json()["refusal"].is_string());
  EXPECT_TRUE(run(home, {"info", kBundledModel, "--json"}).json()["refusal"].is_null());
}

TEST(Models, a_folder_for_a_model_is_refused_with_words) {
  const Folder home;
  const Finished chat = run(home, {"chat", "--prompt", "Hi", "--model", home.string()});
  EXPECT_EQ(chat.exit_code, 7);
  EXPECT_NE(chat.err.find("it is a folder; choose a GGUF file in it. [MODEL_READ]"),
            std::string::npos)
      << chat.err;
}

}  // namespace
}  // namespace satchel::test
