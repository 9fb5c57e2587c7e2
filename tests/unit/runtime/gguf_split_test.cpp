// Models in several files: opened whole by any part, refused with words where a part is wrong.
#include "runtime/gguf/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/gguf/reader.h"
#include "support/gguf_writer.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
using tests::GgufWriter;
namespace fs = std::filesystem;

// A folder with the parts of a model "tiny": each has one tensor of its own.
class GgufSplit : public testing::Test {
 protected:
  GgufSplit() { fs::create_directories(folder_); }
  ~GgufSplit() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path named(int number, int count) const {
    return SplitName{(folder_ / "tiny").string(), 1, static_cast<std::uint32_t>(count)}.part(
        static_cast<std::uint32_t>(number));
  }
  static GgufWriter part(int number, int count, const std::string& tensor, float value) {
    GgufWriter writer;
    if (number == 1) writer.add_string("general.architecture", "llama");
    writer.add_u16("split.no", static_cast<std::uint16_t>(number - 1))
        .add_u16("split.count", static_cast<std::uint16_t>(count))
        .add_i32("split.tensors.count", count)
        .add_tensor(tensor, {2}, std::vector<float>{value, value});
    return writer;
  }
  void write_three() const {
    ASSERT_TRUE(part(1, 3, "c", 1).write(named(1, 3)));
    ASSERT_TRUE(part(2, 3, "a", 2).write(named(2, 3)));
    ASSERT_TRUE(part(3, 3, "b", 3).write(named(3, 3)));
  }
  std::string why_not(const fs::path& path) const {
    const auto file = GgufFile::open(path);
    return file.ok() ? "opened" : "[" + file.error().code + "] " + file.error().message;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("split-" + std::to_string(getpid()));
};

TEST_F(GgufSplit, any_part_opens_the_whole_model) {
  write_three();
  std::string fingerprint;
  for (int number = 1; number <= 3; ++number) {
    const auto file = GgufFile::open(named(number, 3));
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->n_parts(), 3u);
    EXPECT_EQ(*file->get_string("general.architecture"), "llama");
    EXPECT_EQ(file->file_bytes(),
              fs::file_size(named(1, 3)) + fs::file_size(named(2, 3)) + fs::file_size(named(3, 3)));
    float expected = 1;
    for (const char* name : {"c", "a", "b"}) {
      const GgufTensor* tensor = file->find_tensor(name);
      ASSERT_NE(tensor, nullptr) << name;
      EXPECT_EQ(reinterpret_cast<const float*>(tensor->bytes.data())[1], expected++);
    }
    EXPECT_TRUE(file->check_unchanged().ok());
    if (number == 1) fingerprint = *file->model_fingerprint();
    EXPECT_EQ(*file->model_fingerprint(), fingerprint);
  }
  ASSERT_TRUE(part(3, 3, "b", 4).write(named(3, 3)));
  EXPECT_NE(*GgufFile::open(named(1, 3))->model_fingerprint(), fingerprint);
}

TEST_F(GgufSplit, a_change_of_any_part_is_seen) {
  write_three();
  const auto file = GgufFile::open(named(1, 3));
  ASSERT_TRUE(file.ok());
  fs::resize_file(named(2, 3), 10);
  EXPECT_EQ(file->check_unchanged().error().code, "MODEL_CHANGED");
}

TEST_F(GgufSplit, a_missing_part_is_named) {
  write_three();
  fs::remove(named(2, 3));
  EXPECT_THAT(why_not(named(3, 3)), HasSubstr("[MODEL_SHARD] The model is split into 3 files, and "
                                              "\"tiny-00002-of-00003.gguf\" is missing"));
  fs::remove(named(1, 3));
  EXPECT_THAT(why_not(named(3, 3)), HasSubstr("[MODEL_SHARD] The model is split into 3 files, and "
                                              "\"tiny-00001-of-00003.gguf\" is missing"));
}

TEST_F(GgufSplit, what_does_not_belong_together_is_refused) {
  write_three();
  ASSERT_TRUE(part(3, 4, "b", 3).write(named(3, 3)));
  EXPECT_THAT(why_not(named(1, 3)), HasSubstr("[MODEL_SHARD] \"tiny-00003-of-00003.gguf\" says "
                                              "that it is shard 3 of 4"));
  ASSERT_TRUE(part(3, 3, "a", 3).write(named(3, 3)));
  EXPECT_THAT(why_not(named(1, 3)), HasSubstr("Two shards of the model contain the tensor \"a\""));
  ASSERT_TRUE(part(3, 3, "b", 3).add_tensor("d", {1}, std::vector<float>{1}).write(named(3, 3)));
  EXPECT_THAT(why_not(named(1, 3)), HasSubstr("contain 4 of the 3 tensors"));
  ASSERT_TRUE(part(2, 3, "c", 1).write(named(1, 3)));
  EXPECT_THAT(why_not(named(2, 3)), HasSubstr("The first shard in the folder of"));
}

TEST_F(GgufSplit, a_part_under_another_name_says_how_parts_are_named) {
  ASSERT_TRUE(part(1, 3, "c", 1).write(folder_ / "model.gguf"));
  EXPECT_THAT(
      why_not(folder_ / "model.gguf"),
      HasSubstr("[MODEL_SHARD] \"model.gguf\" is shard 1 of 3, but its name does not say so"));
  const std::vector<std::byte> bytes = part(2, 3, "c", 1).bytes();
  EXPECT_THAT(GgufFile::view(bytes).error().message, HasSubstr("These bytes are shard 2 of 3"));
}

TEST_F(GgufSplit, a_whole_model_may_be_named_like_a_part) {
  ASSERT_TRUE(GgufWriter().add_u16("split.count", 1).write(named(2, 3)));
  EXPECT_EQ(why_not(named(2, 3)), "opened");
}

TEST(SplitName, keeps_the_case_of_its_ending) {
  const auto name = split_name("x-00002-of-00003.GGUF");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->part(1), "x-00001-of-00003.GGUF");
}

TEST(SplitName, is_read_from_the_end_of_a_file_name) {
  const auto name = split_name("/models/big-q4-00002-of-00011.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->before, "/models/big-q4");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 11u);
  EXPECT_EQ(name->part(11), "/models/big-q4-00011-of-00011.gguf");
  for (const char* other :
       {"x-00000-of-00002.gguf", "x-00003-of-00002.gguf", "x-0001-of-00002.gguf",
        "x-00001-of-0000a.gguf", "-00001-of-00002.gguf", "x.gguf", ""})
    EXPECT_FALSE(split_name(other).has_value()) << other;
}

}  // namespace
}  // namespace satchel::runtime
