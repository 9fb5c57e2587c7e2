// Memory traffic of kernels, counted as a card's units take it, beside the least that could do.
// Off unless a test asks (count_traffic).
//   unit      of shared memory a wavefront: what the 32 banks of 4 bytes give at once. An access of
//             8 bytes a thread is made by half warps, of 16 by quarters; two of these in one where
//             threads i and i ^ 1, or i and i ^ 2, always have the same address. Of device memory a
//             sector: 32 bytes
//   least     wavefronts for as many different words, and for as many bytes as go to threads (128
//             in one); sectors for as many different bytes. Alignment is not asked for
//   together  accesses of a warp's threads at one place in the code are one access of the warp if
//             each is its thread's n-th of its width there since the warp last met as a whole
//   limits    g++ splits and joins accesses otherwise than nvcc: its loads stay in loops that nvcc
//             unrolls and hoists. A vector that is copied as a whole is one access
//             (vector_types.h), its members by name are one each, and so may be those of structs of
//             the kernels' own, where nvcc has one; what is copied in a range goes by 16 bytes, or
//             as it is aligned. Caches are not followed: a sector that is read again counts again
//   source    CUDA C++ Programming Guide 13.0, shared memory and device memory accesses; half and
//             quarter warps, and the pairs, as Nvidia's engineers tell (developer forum 77228)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simt/block.h"

namespace simt {

// null where a lane takes no part.
using WarpAddresses = std::array<const std::byte*, kWarpLanes>;

enum class Memory { shared, device };
struct Traffic {
  std::uint64_t n_accesses = 0;  // of warps
  std::uint64_t taken = 0, least = 0;
  Traffic& operator+=(const Traffic& more);
  friend bool operator==(const Traffic&, const Traffic&) = default;
  double factor() const {
    return least == 0 ? 1 : static_cast<double>(taken) / static_cast<double>(least);
  }
};
Traffic traffic_of_access(Memory memory, const WarpAddresses& at, std::size_t bytes);

struct LineTraffic {
  std::string kernel;  // its name alone: "attend_splits"
  std::string line;    // "packed_pages.h:178", of the caller's where a primitive makes the access
  Memory memory;
  Traffic traffic;
};
// Forgets what was counted.
void count_traffic(bool is_counted);
// What was counted since, a row for each kernel, line and memory; the most wasteful first.
std::vector<LineTraffic> take_traffic();

// For what runs inside a kernel.
extern bool is_traffic_counted;                                         // every access asks
void note_access(const void* code, const void* at, std::size_t bytes);  // of the running thread
void note_range(const void* code, const void* at, std::size_t bytes);
void note_warp_access(const void* code, const WarpAddresses& at, std::size_t bytes);
void end_warp_traffic(unsigned warp);  // all of its threads have met
void end_block_traffic();              // or all of the block's

}  // namespace simt
