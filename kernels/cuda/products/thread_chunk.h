// What a thread of a warp reads of a tile's chunk: its codes, and the scales of its two rows. For
// .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/products/codes.h"
#include "kernels/cuda/products/group_sum.h"
#include "kernels/cuda/products/scales.h"

namespace satchel::kernels::cuda {

template <WeightType kType>
struct ThreadChunk {
  Codes<kType> codes;
  Scales<kType> scales[2];

  // Planes of the thread's first row.
  template <Reads kReads>
  __device__ __forceinline__ void load(const ThreadPlanes<kType>& from) {
    codes.template load<kReads>(from);
    for (unsigned i = 0; i < 2; ++i) scales[i].template load<kReads>(from, 8 * i);
  }
  __device__ __forceinline__ RowPair rows(unsigned group) const {
    return {{scales[0].scale(group), scales[1].scale(group)},
            {scales[0].minimum(group), scales[1].minimum(group)}};
  }
};

}  // namespace satchel::kernels::cuda
