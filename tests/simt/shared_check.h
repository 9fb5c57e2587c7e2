// Who touched which byte of a block's shared memory since when: finds bytes read before anybody
// wrote them, and two threads at the same byte, one of them writing, with nothing between them that
// orders them. Order comes from the block's barrier, and inside a warp from __syncwarp().
#pragma once

#include <cstddef>

#include "simt/block.h"
#include "simt/memory.h"

namespace simt {

void begin_shared(std::size_t bytes);  // of a block: nothing is written yet
void shared_barrier();                 // all threads of the block have met
void shared_warp_sync(unsigned warp);  // all lanes of the warp have
inline bool is_in_shared_range(const void* at) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(at) - shared_bytes()) <
         kSharedBytesMax;
}
template <std::size_t kBytes>  // as check_device()
void check_shared(const void* at, std::size_t bytes, Access access);

}  // namespace simt
