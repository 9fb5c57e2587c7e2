// The threads of a block, run as fibers on one thread of the machine: each goes on until it waits
// for others (a barrier of the block, an operation of its warp) or ends. Blocks run one after the
// other.
//   order   of threads and blocks: as numbered, or shuffled by a seed. A kernel whose result
//           depends on it is wrong
//   limits  blocks of one launch never run at the same time: a kernel whose blocks wait for each
//           other ends in a finding (divergence)
//   source  PTX ISA 8.5, sections 9.7.12 (barriers) and 9.7.8 (shfl.sync): what waits for what
#pragma once

#include <boost/context/fiber.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "simt/dim3.h"

namespace simt {

inline constexpr unsigned kWarpLanes = 32, kBlockThreadsMax = 1024;
inline constexpr std::size_t kSharedBytesMax = 227 * 1024;  // sm_90; smaller cards: Launch

// What a lane brings to an operation of its warp, and what it takes away; its type is the
// operation's.
using Slot = void*;
// Runs once all lanes of the mask are there. slots: [32], null where a lane is not in the mask.
using Meeting = void (*)(const std::array<Slot, kWarpLanes>& slots, std::uint32_t mask);

// A copy that has not arrived (async_copy.h).
struct PendingCopy {
  void* to;
  const void* code;  // where it was asked for
  std::size_t group, bytes;
  std::array<std::byte, 16> data;
};

struct Thread {
  enum class State { ready, at_barrier, at_meeting, done };
  unsigned index = 0;  // in the block
  Dim3 place;          // threadIdx
  State state = State::ready;
  std::uint32_t mask = 0;  // at_meeting: of those it waits for
  Meeting meeting = nullptr;
  Slot slot = nullptr;
  boost::context::fiber fiber;
  const std::byte* stack = nullptr;  // its lowest byte
  std::vector<PendingCopy> copies;
  std::size_t n_committed = 0;  // groups of copies
  unsigned warp() const { return index / kWarpLanes; }
  unsigned lane() const { return index % kWarpLanes; }
};

struct Launch {
  const void* kernel = nullptr;
  Dim3 grid, block;
  std::size_t shared_bytes = 0;
  const std::byte* arguments = nullptr;  // where they lie: kernels may read them
  std::size_t arguments_bytes = 0;
};

// Runs the kernel for every thread of the grid. False: it was stopped by a finding.
bool run(const Launch& launch, const std::function<void()>& kernel);

// Shuffles threads and blocks of the launches that follow; 0: as numbered.
void set_order(std::uint64_t seed);

// For what runs inside a kernel. current() is null outside. In the open and inline: every access of
// a kernel asks.
extern Thread* running_thread;
extern std::byte shared_bytes_of_block[kSharedBytesMax];
inline constexpr std::size_t kStackBytes = 64 * 1024;

inline Thread* current() {
  return running_thread;
}
inline std::byte* shared_bytes() {
  return shared_bytes_of_block;
}
inline bool is_on_stack(const void* at) {  // of the thread that runs
  return static_cast<std::size_t>(static_cast<const std::byte*>(at) - running_thread->stack) <
         kStackBytes;
}
const Launch& running_launch();
Dim3 running_block();
void barrier();
void meet(std::uint32_t mask, Meeting meeting, Slot slot);
[[noreturn]] void
stop();  // the launch is over: what comes next would touch memory that is not there

}  // namespace simt
