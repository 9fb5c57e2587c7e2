// The cuda backend in a shared library: opened, used and refused as it will be with a card
// (tests/libraries), and where no library is there at all.
#include "kernels/contract/backend_library.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <vector>

#include "kernels/registry/registry.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::kernels {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;

BackendOptions with(std::initializer_list<const char*> folders) {
  BackendOptions options{.n_threads = 1};
  for (const char* each : folders)
    options.library_folders.push_back(fs::path(SATCHEL_TEST_LIBRARIES) / each);
  return options;
}

Error refusal(const char* folder) {
  const auto opened = open_backend("cuda", with({folder}));
  EXPECT_FALSE(opened.ok());
  return opened.ok() ? Error{} : opened.error();
}

TEST(BackendLibrary, opens_the_cuda_backend_whose_kernels_then_run) {
  const auto opened = value_of(choose_backend("cuda", with({"executor"})));
  EXPECT_EQ(opened.backend->name(), "cuda");
  EXPECT_EQ(opened.backend->device(), "executor");
  EXPECT_FALSE(opened.gpu_fallback_reason.has_value());
  Buffer buffer = value_of(opened.backend->allocate(4 * sizeof(float)));
  std::vector<float> values{1, -2, 3.5f, 0};
  ASSERT_TRUE(opened.backend->upload(buffer.data(), std::as_bytes(std::span(values))).ok());
  ASSERT_TRUE(opened.backend->scale(reinterpret_cast<float*>(buffer.data()), 2, 4).ok());
  ASSERT_TRUE(
      opened.backend->download(std::as_writable_bytes(std::span(values)), buffer.data()).ok());
  EXPECT_THAT(values, testing::ElementsAre(2, -4, 7, 0));
}

TEST(BackendLibrary, gives_errors_as_values_across_its_border) {
  const auto backend = value_of(open_backend("cuda", with({"executor"})));
  Buffer buffer = value_of(backend->allocate(4 * sizeof(float)));
  std::vector<float> values{1, std::nanf(""), 3, 4};
  ASSERT_TRUE(backend->upload(buffer.data(), std::as_bytes(std::span(values))).ok());
  const auto largest = backend->argmax(reinterpret_cast<float*>(buffer.data()), 4);
  ASSERT_FALSE(largest.ok());
  EXPECT_EQ(largest.error().code, "LOGITS_NAN");
}

TEST(BackendLibrary, may_be_opened_again_and_twice_at_once) {
  for (int i = 0; i < 2; ++i) {
    const auto one = value_of(open_backend("cuda", with({"executor"})));
    const auto other = value_of(open_backend("cuda", with({"executor"})));
    Buffer outlives_the_other = value_of(one->allocate(100));
    EXPECT_NE(one.get(), other.get());
  }
}

TEST(BackendLibrary, that_is_not_there_is_an_error_that_says_where_it_was_looked_for) {
  const Error error = refusal("nowhere");
  EXPECT_EQ(error.kind, ErrorKind::device_lost);
  EXPECT_EQ(error.code, "GPU_LIBRARY");
  EXPECT_THAT(error.message, HasSubstr(SATCHEL_TEST_LIBRARIES "/nowhere"));
  EXPECT_EQ(open_backend("cuda", {}).error().code, "GPU_LIBRARY");
}

TEST(BackendLibrary, in_a_folder_that_is_not_absolute_is_not_loaded) {
  const fs::path before = fs::current_path();
  fs::current_path(SATCHEL_TEST_LIBRARIES);
  BackendOptions options{.n_threads = 1};
  options.library_folders = {"executor", ""};
  EXPECT_EQ(open_backend("cuda", options).error().code, "GPU_LIBRARY");
  fs::current_path(before);
}

// A library whose code would run when it is loaded, in folders of a test's own. What belongs to
// root here would belong to the user elsewhere.
class PlantedLibrary : public testing::Test {
 protected:
  PlantedLibrary() {
    fs::create_directories(lib_);
    fs::copy_file(fs::path(SATCHEL_TEST_LIBRARIES) / "executor" / kName, lib_ / kName);
    for (const fs::path& path : {temp_.path() / "lib", lib_, lib_ / kName})
      fs::permissions(path, fs::perms(0755));
  }
  Result<std::unique_ptr<Backend>> open() const {
    return open_backend("cuda", {.n_threads = 1, .library_folders = {lib_}});
  }
  void expect_refused(const fs::path& where, const char* why) const {
    const auto opened = open();
    ASSERT_FALSE(opened.ok()) << where;
    EXPECT_EQ(opened.error().code, "GPU_LIBRARY_BAD") << opened.error().message;
    EXPECT_THAT(opened.error().message, HasSubstr("was not loaded, since \"" + where.string()));
    EXPECT_THAT(opened.error().message, HasSubstr(why));
  }

  static constexpr const char* kName = "libsatchel-cuda.so";
  const test::TempFolder temp_;
  const fs::path lib_ = temp_.path() / "lib" / "satchel";
};

TEST_F(PlantedLibrary, that_others_can_change_is_not_loaded) {
  value_of(open());  // as it stands, nobody else can
  for (const fs::path& path : {lib_ / kName, lib_, temp_.path() / "lib", temp_.path()}) {
    const fs::perms before = fs::status(path).permissions();
    fs::permissions(path, fs::perms(0777));
    expect_refused(path, "can be changed by other users");
    fs::permissions(path, before);
  }
  fs::permissions(temp_.path(), fs::perms(01777));
  value_of(open());  // sticky, as /tmp: others add files, but do not replace them
}

TEST_F(PlantedLibrary, of_another_user_is_not_loaded) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  for (const fs::path& path : {lib_ / kName, lib_}) {
    ASSERT_EQ(chown(path.c_str(), kNobody, kNobody), 0);
    expect_refused(path, "belongs to another user (65534)");
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
  value_of(open());
}

TEST_F(PlantedLibrary, behind_a_link_is_looked_at_where_it_lies) {
  fs::create_directory_symlink(lib_, temp_.path() / "linked");
  fs::permissions(lib_, fs::perms(0777));
  const auto opened = open_backend("cuda", {.n_threads = 1, .library_folders = {temp_ / "linked"}});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, "GPU_LIBRARY_BAD");
  EXPECT_THAT(opened.error().message, HasSubstr("can be changed by other users"));
}

TEST(BackendLibrary, that_is_no_library_or_has_no_entry_is_refused) {
  for (const char* folder : {"text", "no_entry"}) {
    const Error error = refusal(folder);
    EXPECT_EQ(error.code, "GPU_LIBRARY_BAD") << folder;
    EXPECT_THAT(error.message, HasSubstr(fs::path(folder) / "libsatchel-cuda.so"));
  }
}

TEST(BackendLibrary, whose_table_lacks_a_pointer_is_refused) {
  EXPECT_EQ(refusal("no_build").code, "PLUGIN_ABI");
  EXPECT_THAT(refusal("no_build").message, HasSubstr("(unknown)"));
  for (const char* folder : {"no_make", "no_lacks"}) {
    const Error error = refusal(folder);
    EXPECT_EQ(error.kind, ErrorKind::device_lost) << folder;
    EXPECT_EQ(error.code, "GPU_LIBRARY_BAD") << folder;
    EXPECT_THAT(error.message, HasSubstr("incomplete table"));
  }
}

TEST(BackendLibrary, of_another_build_or_abi_is_refused_with_both_builds) {
  EXPECT_EQ(refusal("other_abi").code, "PLUGIN_ABI");
  const Error error = refusal("other_build");
  EXPECT_EQ(error.code, "PLUGIN_ABI");
  EXPECT_THAT(error.message, HasSubstr("(9.9.9)"));
  EXPECT_THAT(error.message, HasSubstr(std::string(build_identity())));
}

TEST(BackendLibrary, says_what_its_backend_says_when_it_does_not_open) {
  const Error error = refusal("old_driver");
  EXPECT_EQ(error.code, "GPU_DRIVER");
  EXPECT_THAT(error.message, HasSubstr("supports CUDA 11.8, but this build needs 13.0"));
}

TEST(AutoBackend, is_the_gpu_where_its_backend_is_whole) {
  const auto chosen = value_of(choose_backend("auto", with({"nowhere", "fake"})));
  EXPECT_EQ(chosen.backend->name(), "cuda");
  EXPECT_FALSE(chosen.gpu_fallback_reason.has_value());
}

TEST(AutoBackend, is_the_cpu_where_the_gpu_does_not_open_and_says_why) {
  for (const auto& [folder, code] : {std::pair("nowhere", "GPU_LIBRARY"),
                                     {"other_build", "PLUGIN_ABI"},
                                     {"old_driver", "GPU_DRIVER"},
                                     {"half", "GPU_OPERATION"}}) {
    const auto chosen = choose_backend("auto", with({folder}));
    if (!chosen.ok()) {
      EXPECT_EQ(chosen.error().code, "CPU_FEATURE");
      continue;
    }
    EXPECT_EQ(chosen->backend->name(), "cpu");
    ASSERT_TRUE(chosen->gpu_fallback_reason.has_value());
    EXPECT_EQ(chosen->gpu_fallback_reason->code, code);
  }
}

TEST(AutoBackend, is_the_cpu_where_the_options_are_the_cpus) {
  BackendOptions options = with({"fake"});
  options.activation_bits = 8;
  const auto chosen = choose_backend("auto", options);
  if (!chosen.ok()) GTEST_SKIP() << chosen.error().message;
  EXPECT_EQ(chosen->backend->name(), "cpu");
  EXPECT_EQ(chosen->gpu_fallback_reason->code, "GPU_OPTIONS");
}

}  // namespace
}  // namespace satchel::kernels
