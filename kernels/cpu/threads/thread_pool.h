// ThreadPool: runs one loop at a time on this thread and its workers, cut into chunks of a fixed
// length, so that no result can depend on the number of threads.
//   chunks   items [0, grain), [grain, 2·grain) …; whoever is free takes the next
//   waiting  a worker spins for some tens of microseconds (a model runs hundreds of short loops per
//            token), then sleeps in the kernel: an idle pool costs nothing
//   late     the caller waits only for workers that have begun; a worker that wakes after the last
//            chunk was taken finds the loop closed
//   threads  parallel_for from one thread at a time, never from inside a chunk; allocates nothing
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kernels::cpu {

class ThreadPool {
 public:
  // n_threads counts the calling thread; 0: one per physical core (cores.h).
  static Result<std::unique_ptr<ThreadPool>> make(std::size_t n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t n_threads() const { return workers_.size() + 1; }

  // Calls chunk(begin, end, thread) for every chunk; thread < n_threads() names whose scratch to
  // use. What chunk writes is seen by the caller afterwards. chunk must not throw.
  template <class Chunk>
  void parallel_for(std::size_t n_items, std::size_t grain, Chunk&& chunk) {
    using Body = std::remove_reference_t<Chunk>;
    run({.n_items = n_items,
         .grain = grain,
         .body = const_cast<void*>(static_cast<const void*>(&chunk)),
         .call = [](void* body, std::size_t begin, std::size_t end, std::size_t thread) {
           (*static_cast<Body*>(body))(begin, end, thread);
         }});
  }

 private:
  struct Loop {
    std::size_t n_items = 0, grain = 1;
    void* body = nullptr;
    void (*call)(void* body, std::size_t begin, std::size_t end, std::size_t thread) = nullptr;
  };

  ThreadPool() = default;
  void run(const Loop& loop);
  void take_chunks(std::size_t thread);
  void work(std::size_t thread);
  bool try_enter();
  void leave();

  // loop_ is written only while gate_ is 0 and read only by who has entered.
  // gate_: kOpen, plus kInside for each worker inside.
  Loop loop_;
  alignas(64) std::atomic<std::uint32_t> gate_{0};
  alignas(64) std::atomic<std::size_t> next_chunk_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};  // rises with every loop and at the end
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace satchel::kernels::cpu
