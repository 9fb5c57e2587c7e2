// Stands in for the header of this name in kernels/cuda: shared memory as the executor gives it.
#pragma once

#include "simt/block.h"

namespace satchel::kernels::cuda {

template <class T>
T& shared_memory() {
  return *reinterpret_cast<T*>(simt::shared_bytes());
}

}  // namespace satchel::kernels::cuda
