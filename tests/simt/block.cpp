#include "simt/block.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <utility>

#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/shared_check.h"
#include "simt/traffic.h"

// What CUDA calls them; kernels read them (include/cuda_runtime.h).

simt::Dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace simt {

Thread* running_thread = nullptr;
alignas(128) std::byte shared_bytes_of_block[kSharedBytesMax];

namespace {

// Stacks are used again by the fibers that come after: a block has up to 1024.
struct PooledStacks {
  const std::byte** lowest;
  boost::context::stack_context allocate() {
    std::vector<std::unique_ptr<std::byte[]>>& free = unused();
    std::unique_ptr<std::byte[]> stack;
    if (free.empty()) {
      stack = std::make_unique<std::byte[]>(kStackBytes);
    } else {
      stack = std::move(free.back());
      free.pop_back();
    }
    boost::context::stack_context context;
    context.size = kStackBytes;
    *lowest = stack.get();
    context.sp = stack.release() + kStackBytes;
    return context;
  }
  void deallocate(boost::context::stack_context& context) {
    unused().emplace_back(static_cast<std::byte*>(context.sp) - context.size);
  }
  static std::vector<std::unique_ptr<std::byte[]>>& unused() {
    static std::vector<std::unique_ptr<std::byte[]>> stacks;
    return stacks;
  }
};

struct Running {
  const Launch* launch = nullptr;
  Dim3 block;
  std::vector<Thread> threads;
  boost::context::fiber scheduler;
  bool stopped = false;
};
Running& running() {
  static Running state;
  return state;
}

std::uint64_t order_seed = 0;

std::vector<std::uint64_t> order_of(std::uint64_t n, std::uint64_t salt) {
  std::vector<std::uint64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (order_seed != 0) std::ranges::shuffle(order, std::mt19937_64(order_seed + salt));
  return order;
}

Dim3 place_of(std::uint64_t index, const Dim3& in) {
  return {static_cast<unsigned>(index % in.x), static_cast<unsigned>(index / in.x % in.y),
          static_cast<unsigned>(index / in.x / in.y)};
}

void wait() {
  Running& all = running();
  all.scheduler = std::move(all.scheduler).resume();
}

boost::context::fiber begin(Thread& thread, const std::function<void()>& kernel) {
  return {std::allocator_arg, PooledStacks{&thread.stack}, [&](boost::context::fiber&& scheduler) {
            running().scheduler = std::move(scheduler);
            kernel();
            thread.state = Thread::State::done;
            return std::move(running().scheduler);
          }};
}

std::string waiting_threads() {
  std::ostringstream out;
  const auto tell = [&](Thread::State state, const char* what) {
    std::size_t n = 0;
    for (const Thread& thread : running().threads)
      if (thread.state == state && n++ < 4) out << (n == 1 ? what : ",") << " " << thread.index;
    if (n > 4) out << " … (" << n << ")";
  };
  tell(Thread::State::at_barrier, "at the block's barrier:");
  tell(Thread::State::at_meeting, "; at an operation of their warp:");
  tell(Thread::State::done, "; ended:");
  return out.str();
}

bool free_at_barrier() {
  Running& all = running();
  if (!std::ranges::all_of(all.threads, [](const Thread& thread) {
        return thread.state == Thread::State::at_barrier;
      }))
    return false;
  for (Thread& thread : all.threads) thread.state = Thread::State::ready;
  shared_barrier();
  if (is_traffic_counted) end_block_traffic();
  return true;
}

void run_block(const std::function<void()>& kernel) {
  Running& all = running();
  const std::size_t n = all.launch->block.count();
  all.threads.clear();
  all.threads.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    all.threads[i].index = static_cast<unsigned>(i);
    all.threads[i].place = place_of(i, all.launch->block);
    all.threads[i].fiber = begin(all.threads[i], kernel);
  }
  begin_shared(all.launch->shared_bytes);
  begin_block_of_memory();
  const auto order = order_of(n, all.block.x + 977u * all.block.y + 7919u * all.block.z + 1);
  std::size_t n_done = 0;
  while (n_done < n && !all.stopped) {
    bool has_moved = false;
    for (const std::uint64_t i : order) {
      Thread& thread = all.threads[i];
      if (thread.state != Thread::State::ready) continue;
      has_moved = true;
      running_thread = &thread;
      threadIdx = thread.place;
      thread.fiber = std::move(thread.fiber).resume();
      running_thread = nullptr;
      if (all.stopped) break;
      if (thread.state == Thread::State::done) ++n_done;
    }
    if (has_moved || all.stopped || free_at_barrier()) continue;
    report(Finding::Kind::divergence, "nobody can go on; " + waiting_threads());
    all.stopped = true;
  }
  if (is_traffic_counted) end_block_traffic();
  if (!all.stopped) return;
  // A fiber that is left where it stands would be unwound by its destructor, through code that
  // throws nothing. It has nothing to give back: its stack stays with it.
  for (Thread& thread : all.threads)
    if (thread.fiber) new boost::context::fiber(std::move(thread.fiber));
}

}  // namespace

bool run(const Launch& launch, const std::function<void()>& kernel) {
  Running& all = running();
  all.launch = &launch;
  all.stopped = false;
  blockDim = launch.block;
  gridDim = launch.grid;
  const DeviceIsOpen open;
  begin_launch_of_memory();
  for (const std::uint64_t i : order_of(launch.grid.count(), 0)) {
    all.block = blockIdx = place_of(i, launch.grid);
    run_block(kernel);
    if (all.stopped) break;
  }
  all.launch = nullptr;
  return !all.stopped;
}

void set_order(std::uint64_t seed) {
  order_seed = seed;
}

const Launch& running_launch() {
  return *running().launch;
}
Dim3 running_block() {
  return running().block;
}

void barrier() {
  current()->state = Thread::State::at_barrier;
  wait();
}

void meet(std::uint32_t mask, Meeting meeting, Slot slot) {
  Running& all = running();
  Thread& self = *current();
  if ((mask >> self.lane() & 1) == 0) {
    report(Finding::Kind::bad_operand,
           "the mask of a warp's operation lacks the lane that calls it");
    stop();
  }
  self.mask = mask;
  self.meeting = meeting;
  self.slot = slot;
  std::array<Slot, kWarpLanes> slots = {};
  slots[self.lane()] = slot;
  const std::size_t first = self.index - self.lane();
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if ((mask >> lane & 1) == 0 || lane == self.lane()) continue;
    const Thread* other = first + lane < all.threads.size() ? &all.threads[first + lane] : nullptr;
    const bool is_there = other != nullptr && other->state == Thread::State::at_meeting &&
                          other->mask == mask && other->meeting == meeting;
    if (!is_there) {
      self.state = Thread::State::at_meeting;
      return wait();
    }
    slots[lane] = other->slot;
  }
  meeting(slots, mask);
  if (is_traffic_counted && mask == ~0u) end_warp_traffic(self.warp());
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    if ((mask >> lane & 1) != 0) all.threads[first + lane].state = Thread::State::ready;
}

void stop() {
  running().stopped = true;
  wait();
  __builtin_unreachable();
}

}  // namespace simt
