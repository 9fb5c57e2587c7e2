#if defined(__x86_64__)
#include "kernels/cpu/threads/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace satchel::kernels::cpu {
namespace {

class Cores : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) / ("cores_" + std::string(test->name()));
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void list(int cpu, const std::string& siblings) {
    const auto folder = root_ / ("cpu" + std::to_string(cpu)) / "topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "thread_siblings_list") << siblings << "\n";
  }

  std::filesystem::path root_;
};

TEST_F(Cores, hyperthreads_of_one_core_count_once) {
  list(0, "0,2");
  list(1, "1,3");
  list(2, "0,2");
  list(3, "1,3");
  EXPECT_EQ(count_cores(std::vector{0, 1, 2, 3}, root_), 2u);
  EXPECT_EQ(count_cores(std::vector{0, 2}, root_), 1u);
  EXPECT_EQ(count_cores(std::vector{0, 3}, root_), 2u);
}

TEST_F(Cores, a_processor_that_nothing_is_known_of_is_a_core) {
  list(0, "0-1");
  list(1, "0-1");
  EXPECT_EQ(count_cores(std::vector{0, 1, 2, 3}, root_), 3u);
  EXPECT_EQ(count_cores(std::vector<int>{}, root_), 0u);
}

TEST(UsableCores, are_those_that_the_thread_may_run_on) {
  EXPECT_LE(usable_cores(), std::thread::hardware_concurrency());
  std::size_t on_one_processor = 0;
  std::thread([&] {
    cpu_set_t allowed, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    std::size_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    on_one_processor = usable_cores();
  }).join();
  EXPECT_EQ(on_one_processor, 1u);
}

}  // namespace
}  // namespace satchel::kernels::cpu
#endif
