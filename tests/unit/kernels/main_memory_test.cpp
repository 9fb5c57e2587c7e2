// Free memory where control groups allow less than the machine has; what core dumps leave out.
#include "kernels/base/main_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "kernels/base/zeroed_memory.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"

namespace satchel {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class FreeMemory : public testing::Test {
 protected:
  FreeMemory() { write("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    4096000 kB\n"); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void group(const std::string& folder, const std::string& limit, std::size_t used_mib,
             std::size_t reclaimable_mib, bool is_first_version = false) {
    const std::string at = "sys/fs/cgroup/" + folder + "/";
    write(at + (is_first_version ? "memory.limit_in_bytes" : "memory.max"), limit + "\n");
    write(at + (is_first_version ? "memory.usage_in_bytes" : "memory.current"),
          std::to_string(used_mib * kMiB) + "\n");
    write(at + "memory.stat",
          "anon 77\n" + std::string(is_first_version ? "total_inactive_file " : "inactive_file ") +
              std::to_string(reclaimable_mib * kMiB) + "\nslab 5\n");
  }
  std::size_t free_mib() const { return free_memory_of(root_) / kMiB; }

  test::TempFolder folder_;
  std::filesystem::path root_ = folder_.path();
};

TEST_F(FreeMemory, is_the_machines_without_control_groups) {
  EXPECT_EQ(free_mib(), 4000u);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(free_mib(), 4000u);
}

TEST_F(FreeMemory, is_what_the_group_leaves_and_files_it_can_drop_count_as_free) {
  write("proc/self/cgroup", "0::/user.slice/app.service\n");
  group("user.slice/app.service", std::to_string(1000 * kMiB), 700, 200);
  EXPECT_EQ(free_mib(), 500u);
  group("user.slice/app.service", "max", 700, 200);
  EXPECT_EQ(free_mib(), 4000u);
}

TEST_F(FreeMemory, is_never_more_than_a_group_above_leaves) {
  write("proc/self/cgroup", "0::/user.slice/app.service\n");
  group("user.slice", std::to_string(300 * kMiB), 290, 0);
  group("user.slice/app.service", std::to_string(1000 * kMiB), 100, 0);
  EXPECT_EQ(free_mib(), 10u);
  group("user.slice", std::to_string(300 * kMiB), 310, 0);
  EXPECT_EQ(free_mib(), 0u);
}

TEST_F(FreeMemory, knows_the_first_version_of_control_groups) {
  write("proc/self/cgroup", "12:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n0::/ignored\n");
  group("memory/docker/x", std::to_string(900 * kMiB), 400, 100, true);
  EXPECT_EQ(free_mib(), 600u);
}

// The flags that the kernel has for the mapping of an address; empty: it tells none.
std::string flags_at(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0, end = 0;
    char dash = 0;
    std::istringstream head(line);
    if (head >> std::hex >> first >> dash >> end && dash == '-') is_here = first <= at && at < end;
    if (is_here && line.starts_with("VmFlags:")) return line;
  }
  return {};
}

using Memory = std::unique_ptr<void, FreeZeroed>;

Memory zeroed(std::size_t bytes) {
  return {zeroed_memory(64, bytes), FreeZeroed{bytes}};
}

// Of this process, in main memory now.
std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

TEST(ZeroedMemory, that_is_large_takes_no_pages_before_they_are_written) {
  if (test::kSanitized) GTEST_SKIP() << "comes from the heap here";
  const std::size_t before = resident_bytes();
  if (before == 0) GTEST_SKIP() << "this system tells no sizes";
  const Memory memory = zeroed(256 * kMiB);
  ASSERT_NE(memory, nullptr);
  EXPECT_LT(resident_bytes(), before + 64 * kMiB);
  static_cast<char*>(memory.get())[100 * kMiB] = 1;
  EXPECT_LT(resident_bytes(), before + 64 * kMiB);
}

TEST(ZeroedMemory, of_any_size_is_aligned_and_zeroed_and_given_back) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, 2 * kMiB - 1, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB}) {
    for (int again = 0; again < 3; ++again) {  // what was given back comes zeroed, too
      const Memory memory = zeroed(bytes);
      ASSERT_NE(memory, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0u);
      auto* const at = static_cast<unsigned char*>(memory.get());
      EXPECT_EQ(std::count(at, at + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
      std::fill_n(at, bytes, std::uint8_t{0xff});
    }
  }
}

TEST(ZeroedMemory, that_is_large_is_left_out_of_core_dumps) {
  if (test::kSanitized) GTEST_SKIP() << "comes from the heap here";
  const Memory memory = zeroed(4 * kMiB);
  ASSERT_NE(memory, nullptr);
  const std::string flags = flags_at(memory.get());
  if (flags.empty()) GTEST_SKIP() << "this kernel tells no flags";
  EXPECT_NE(flags.find(" dd"), flags.npos) << flags;
}

TEST(ZeroedMemory, has_no_huge_page_where_it_does_not_fill_one) {
  if (test::kSanitized) GTEST_SKIP() << "comes from the heap here";
  const Memory memory = zeroed(5 * kMiB);
  ASSERT_NE(memory, nullptr);
  const auto* const at = static_cast<const char*>(memory.get());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % (2 * kMiB), 0u);
  if (flags_at(at).find(" hg") == std::string::npos)
    GTEST_SKIP() << "this kernel has no huge pages";
  EXPECT_NE(flags_at(at + 4 * kMiB - 1).find(" hg"), std::string::npos);
  EXPECT_EQ(flags_at(at + 4 * kMiB).find(" hg"), std::string::npos);
}

TEST(FreeMainMemory, is_at_most_what_the_address_space_leaves) {
  ASSERT_GT(free_main_memory(), 0u);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "the address space is limited here";
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit tight = before;
  tight.rlim_cur = pages * 4096 + 64 * kMiB;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const std::size_t left = free_main_memory();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LE(left, 64 * kMiB);
}

}  // namespace
}  // namespace satchel
