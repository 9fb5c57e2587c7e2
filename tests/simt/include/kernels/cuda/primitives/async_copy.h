// Stands in for the header of this name in kernels/cuda.
#pragma once

#include "simt/async_copy.h"

namespace satchel::kernels::cuda {

inline void copy_16_bytes_async(void* to, const void* from) {
  simt::copy_async(to, from, 16);
}
inline void copy_4_bytes_async(void* to, const void* from) {
  simt::copy_async(to, from, 4);
}
inline void commit_copies() {
  simt::commit_copies();
}
template <int kLeft>
void wait_for_copies() {
  simt::wait_for_copies(kLeft);
}

}  // namespace satchel::kernels::cuda
