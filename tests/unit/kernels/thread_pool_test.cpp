#if defined(__x86_64__)
#include "kernels/cpu/threads/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace satchel::kernels::cpu {
namespace {

std::unique_ptr<ThreadPool> pool_of(std::size_t n) {
  auto pool = ThreadPool::make(n);
  EXPECT_TRUE(pool.ok());
  return std::move(pool).value();
}

TEST(ThreadPool, visits_every_item_once_in_chunks_that_do_not_depend_on_threads) {
  for (const std::size_t n_threads : {1u, 2u, 5u}) {
    const auto pool = pool_of(n_threads);
    EXPECT_EQ(pool->n_threads(), n_threads);
    for (const std::size_t n : {0u, 1u, 9u, 10u, 11u, 1000u}) {
      std::mutex mutex;
      std::set<std::pair<std::size_t, std::size_t>> chunks;
      pool->parallel_for(n, 10, [&](std::size_t begin, std::size_t end, std::size_t thread) {
        const std::scoped_lock lock(mutex);
        EXPECT_LT(thread, n_threads);
        EXPECT_TRUE(chunks.emplace(begin, end).second);
      });
      EXPECT_EQ(chunks.size(), (n + 9) / 10);
      std::size_t at = 0;
      for (const auto& [begin, end] : chunks) {
        EXPECT_EQ(begin, at);
        EXPECT_EQ(end, std::min(begin + 10, n));
        at = end;
      }
    }
  }
}

TEST(ThreadPool, what_chunks_write_is_seen_afterwards_over_many_short_loops) {
  const auto pool = pool_of(4);
  std::vector<int> values(64, 0);
  for (int round = 1; round <= 5000; ++round) {
    pool->parallel_for(values.size(), 1, [&](std::size_t begin, std::size_t, std::size_t) {
      ++values[begin];  // plain memory: a lost or doubled chunk shows
    });
    for (const int value : values) ASSERT_EQ(value, round);
  }
}

TEST(ThreadPool, starts_and_ends_while_workers_sleep_spin_or_have_never_run) {
  for (int round = 0; round < 50; ++round) {
    const auto pool = pool_of(3);
    if (round % 2 == 0) continue;
    std::atomic<int> calls{0};
    pool->parallel_for(6, 2, [&](std::size_t, std::size_t, std::size_t) { ++calls; });
    EXPECT_EQ(calls.load(), 3);
  }
}

TEST(ThreadPool, wakes_sleeping_workers) {
  // Chunks that wait for each other end only if two threads run them.
  const auto pool = pool_of(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> inside{0};
    pool->parallel_for(2, 1, [&](std::size_t, std::size_t, std::size_t) {
      ++inside;
      while (inside.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(inside.load(), 2);
  }
}

}  // namespace
}  // namespace satchel::kernels::cpu
#endif
