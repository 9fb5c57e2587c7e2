#include "kernels/registry/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/backends.h"

namespace satchel::kernels {
namespace {

TEST(Registry, the_reference_is_always_there) {
  const auto names = backend_names();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names[0], "reference");
  for (const std::string_view name : names) {
    const auto backend = open_backend(name, {.n_threads = 1});
    if (!backend.ok()) {
      EXPECT_EQ(backend.error().kind, ErrorKind::device_lost);
      EXPECT_EQ(backend.error().code, name == "cuda" ? "GPU_LIBRARY" : "CPU_FEATURE");
      continue;
    }
    EXPECT_EQ((*backend)->name(), name);
  }
}

TEST(Registry, an_unknown_backend_is_refused_with_the_names_there_are) {
  const auto backend = open_backend("vulkan", {});
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.error().kind, ErrorKind::device_lost);
  EXPECT_EQ(backend.error().code, "BACKEND");
  EXPECT_NE(backend.error().message.find("Choose one of: auto, reference"), std::string::npos);
}

TEST(Registry, an_unknown_or_absent_cpu_level_is_refused) {
  if (cpu_levels_present() == 0) GTEST_SKIP() << "cpu: this machine has no level";
  const auto unknown = open_backend("cpu", {.n_threads = 1, .cpu_level = "sse9"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "CPU_FEATURE");
  for (std::size_t i = cpu_levels_present(); i < cpu_level_names().size(); ++i)
    EXPECT_FALSE(open_backend("cpu", {.n_threads = 1, .cpu_level = cpu_level_names()[i]}).ok());
}

TEST(Registry, a_level_of_a_backend_that_has_none_is_refused_and_not_left_out) {
  for (const char* name : {"cuda", "reference"}) {
    const auto backend = choose_backend(name, {.n_threads = 1, .cpu_level = "avx2"});
    ASSERT_FALSE(backend.ok()) << name;
    EXPECT_EQ(backend.error().kind, ErrorKind::invalid);
    EXPECT_EQ(backend.error().code, "CPU_LEVEL");
  }
}

TEST(Registry, finds_a_card_of_nvidias_among_the_devices_of_the_bus) {
  namespace fs = std::filesystem;
  const fs::path devices = fs::path(testing::TempDir()) / "satchel-pci-devices";
  const auto add = [&](const char* device, const char* vendor) {
    fs::create_directories(devices / device);
    std::ofstream(devices / device / "vendor") << vendor << "\n";
  };
  EXPECT_FALSE(has_nvidia_card(devices)) << "no such folder";
  add("0000:00:00.0", "0x8086");
  fs::create_directories(devices / "0000:00:01.0");  // without the file
  EXPECT_FALSE(has_nvidia_card(devices));
  add("0000:01:00.0", "0x10de");
  EXPECT_TRUE(has_nvidia_card(devices));
  fs::remove_all(devices);
}

TEST(Registry, tells_why_it_is_not_the_gpu_only_where_somebody_can_do_something_about_it) {
  const auto tells = [](const char* code, bool has_card) {
    return shows_fallback_reason({ErrorKind::device_lost, code, ""}, has_card);
  };
  for (const bool has_card : {false, true}) {
    EXPECT_EQ(tells("GPU_LIBRARY", has_card), has_card);
    EXPECT_FALSE(tells("GPU_OPTIONS", has_card)) << "it was asked for";
    EXPECT_EQ(tells("GPU_DRIVER", has_card), has_card);
    EXPECT_EQ(tells("GPU_NONE", has_card), has_card);
    EXPECT_EQ(tells("PLUGIN_ABI", has_card), has_card);
    EXPECT_EQ(tells("GPU_LIBRARY_BAD", has_card), has_card);
    EXPECT_TRUE(tells("GPU_MEMORY", has_card)) << "there is a card that is full";
  }
}

TEST(Registry, a_forced_level_is_the_one_that_runs) {
  const char* shown[] = {"AVX2, 1 thread", "AVX-512, 2 threads", "AVX-512 VNNI, 3 threads"};
  ASSERT_GE(std::size(shown), cpu_levels_present());
  for (std::size_t i = 0; i < cpu_levels_present(); ++i) {
    const auto backend =
        open_backend("cpu", {.n_threads = i + 1, .cpu_level = cpu_level_names()[i]});
    ASSERT_TRUE(backend.ok());
    EXPECT_EQ((*backend)->device(), shown[i]);
  }
}

class EveryBackendsMemory : public test::OnEveryBackend {};

TEST_P(EveryBackendsMemory, is_zeroed_and_aligned_and_gives_back_what_it_was_given) {
  constexpr std::size_t kHugePage = 2u << 20;  // from here on memory is asked for otherwise
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{257},
        std::size_t{100'000}, kHugePage - 1, kHugePage, kHugePage + 1, std::size_t{5'000'001}}) {
    auto buffer = backend().allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 256, 0u);
    std::vector<std::byte> got(bytes, std::byte{1});
    ASSERT_TRUE(backend().download(got, buffer->data()).ok());
    EXPECT_TRUE(std::ranges::all_of(got, [](std::byte b) { return b == std::byte{0}; }));
    std::vector<std::byte> sent(bytes);
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<std::byte>(i * 7 + 1);
    ASSERT_TRUE(backend().upload(buffer->data(), sent).ok());
    ASSERT_TRUE(backend().download(got, buffer->data()).ok());
    EXPECT_EQ(got, sent);
  }
}

TEST_P(EveryBackendsMemory, copies_between_overlapping_places) {
  auto buffer = backend().allocate(300);
  ASSERT_TRUE(buffer.ok());
  std::vector<std::byte> sent(300);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(backend().upload(buffer->data(), sent).ok());
  ASSERT_TRUE(backend().copy(buffer->data() + 7, buffer->data(), 293).ok());
  std::vector<std::byte> got(300);
  ASSERT_TRUE(backend().download(got, buffer->data()).ok());
  std::memmove(sent.data() + 7, sent.data(), 293);
  EXPECT_EQ(got, sent);
}

TEST_P(EveryBackendsMemory, more_than_the_machine_has_is_an_error_value) {
  auto buffer = backend().allocate(SIZE_MAX - 3);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().kind, ErrorKind::out_of_memory);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryBackendsMemory, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
