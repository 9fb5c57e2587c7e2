#include "kernels/cpu/threads/thread_pool.h"

#include <algorithm>
#include <system_error>

#include "kernels/base/assert.h"
#include "kernels/cpu/threads/cores.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::uint32_t kOpen = 1, kInside = 2;
constexpr std::size_t kThreadsMax = 256;  // chosen: beyond any desktop
// A pause is 40 to 140 cycles: 25 to 70 µs, more than the gap between two loops of one token.
constexpr int kSpins = 2000;

// Returns the value once it differs from `old`: spins first, then sleeps.
std::uint32_t wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    __builtin_ia32_pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::make(std::size_t n_threads) {
  if (n_threads == 0) n_threads = usable_cores();
  n_threads = std::min(n_threads, kThreadsMax);
  std::unique_ptr<ThreadPool> pool(new ThreadPool);
  pool->workers_.reserve(n_threads - 1);
  try {
    for (std::size_t thread = 1; thread < n_threads; ++thread)
      pool->workers_.emplace_back([p = pool.get(), thread] { p->work(thread); });
  } catch (const std::system_error&) {
    return Error{ErrorKind::out_of_memory, "THREADS",
                 "The system started only " + std::to_string(pool->n_threads()) + " of " +
                     std::to_string(n_threads) + " threads. Choose fewer."};
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(const Loop& loop) {
  SATCHEL_ASSERT(loop.grain > 0);
  if (workers_.empty() || loop.n_items <= loop.grain) {
    for (std::size_t begin = 0; begin < loop.n_items; begin += loop.grain)
      loop.call(loop.body, begin, std::min(begin + loop.grain, loop.n_items), 0);
    return;
  }
  loop_ = loop;
  next_chunk_.store(0, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  take_chunks(0);
  std::uint32_t gate =
      gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;  // nobody else enters
  while (gate != 0) gate = wait_while(gate_, gate);
}

void ThreadPool::take_chunks(std::size_t thread) {
  for (;;) {
    const std::size_t begin = next_chunk_.fetch_add(1, std::memory_order_relaxed) * loop_.grain;
    if (begin >= loop_.n_items) return;
    loop_.call(loop_.body, begin, std::min(begin + loop_.grain, loop_.n_items), thread);
  }
}

bool ThreadPool::try_enter() {
  std::uint32_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate & kOpen) != 0)
    if (gate_.compare_exchange_weak(gate, gate + kInside, std::memory_order_acquire,
                                    std::memory_order_relaxed))
      return true;
  return false;
}

void ThreadPool::leave() {
  // Only the caller of a closed loop waits for the gate.
  if (gate_.fetch_sub(kInside, std::memory_order_acq_rel) == kInside) gate_.notify_one();
}

void ThreadPool::work(std::size_t thread) {
  std::uint32_t seen = 0;
  for (;;) {
    seen = wait_while(round_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (!try_enter()) continue;
    take_chunks(thread);
    leave();
  }
}

}  // namespace satchel::kernels::cpu
