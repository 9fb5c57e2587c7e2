// What --model names: a path, a file here, or the beginning of a name in the model folder.
#include "app/paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/installed_root.h"
#include "support/temp_folder.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

// A working directory of the test's own, and a model folder beside it.
class PathsTest : public testing::Test {
 protected:
  PathsTest() {
    paths_.models_dir = folder_ / "models";
    fs::create_directories(paths_.models_dir);
    fs::create_directories(folder_ / "here");
    fs::current_path(folder_ / "here");
    write(paths_.models_dir / "SmolLM2-135M.gguf");
  }
  ~PathsTest() override { fs::current_path(before_); }
  static void write(const fs::path& path) { std::ofstream(path) << "model"; }

  const fs::path before_ = fs::current_path();
  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
  Paths paths_;
};

TEST_F(PathsTest, a_folder_of_the_name_does_not_hide_the_model) {
  fs::create_directory("smollm2");
  EXPECT_EQ(resolve_model(paths_, "smollm2"), paths_.models_dir / "SmolLM2-135M.gguf");
  fs::remove("smollm2");
  write("smollm2");
  EXPECT_EQ(resolve_model(paths_, "smollm2"), "smollm2") << "a file here comes first";
  EXPECT_EQ(resolve_model(paths_, "./smol"), "./smol") << "a path is taken as it is";
  EXPECT_EQ(resolve_model(paths_, "qwen"), "qwen");
}

TEST_F(PathsTest, a_whole_name_is_that_model_and_a_beginning_of_two_is_none) {
  write(paths_.models_dir / "SmolLM2-135M-Q4.gguf");
  EXPECT_EQ(resolve_model(paths_, "smollm2-135m"), paths_.models_dir / "SmolLM2-135M.gguf");
  EXPECT_EQ(resolve_model(paths_, "smol"), "smol");
  const auto models = models_named(paths_, "smol");
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "SmolLM2-135M");
  EXPECT_TRUE(models_named(paths_, "").empty());
}

TEST(InstalledRoot, is_above_a_folder_called_bin_and_else_the_programs_own_folder) {
  EXPECT_EQ(installed_root("/usr/bin/satchel"), "/usr");
  EXPECT_EQ(installed_root("/home/me/satchel/build/release/bin/satchel-desktop"),
            "/home/me/satchel/build/release");
  EXPECT_EQ(installed_root("/tmp/try/satchel"), "/tmp/try") << "not /tmp, where all may write";
  EXPECT_EQ(installed_root("/tmp/satchel"), "/tmp");
  EXPECT_EQ(installed_root(""), "");
}

TEST_F(PathsTest, only_files_are_offered_as_models) {
  fs::create_directory(paths_.models_dir / "Phi.gguf");
  fs::create_symlink(folder_ / "here" / "elsewhere", paths_.models_dir / "Linked.gguf");
  write("elsewhere");
  const auto models = find_models(paths_);
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "Linked");
  EXPECT_EQ(models[0].bytes, 5u);
  EXPECT_EQ(models[1].name, "SmolLM2-135M");
}

}  // namespace
}  // namespace satchel::app
