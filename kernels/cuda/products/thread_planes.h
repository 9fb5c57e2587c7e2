// The addresses of one thread of a warp in a tile's chunk (tile_layout.h), one per plane, so that
// the next chunk is an addition away. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/weights/tile_layout.h"

namespace satchel::kernels::cuda {

template <WeightType kType>
struct ThreadPlanes {
  static constexpr TileShape kShape = tile_shape(kType);
  const std::byte *low, *high;        // the thread's words
  const std::byte *scales, *factors;  // a row's

  __device__ __forceinline__ ThreadPlanes(const std::byte* tile, const TilePlan& plan,
                                          unsigned chunk, unsigned thread, unsigned row)
      : low(tile + plan.low_at + (std::size_t{chunk} * kWarp + thread) * kShape.low_bits * 4),
        high(tile + plan.high_at + (std::size_t{chunk} * kWarp + thread) * kShape.high_bits * 4),
        scales(tile + plan.scales_at +
               (std::size_t{chunk} * kTileRows + row) * kShape.scale_bytes()),
        factors(tile + plan.factors_at +
                (std::size_t{chunk / kChunksOfUnit} * kTileRows + row) * kShape.kinds() * 2) {}

  // To the chunk kChunks further on, a whole number of units.
  template <unsigned kChunks>
  __device__ __forceinline__ void walk() {
    static_assert(!kShape.has_factors() || kChunks % kChunksOfUnit == 0);
    low += kChunks * kWarp * kShape.low_bits * 4;
    high += kChunks * kWarp * kShape.high_bits * 4;
    scales += kChunks * kTileRows * kShape.scale_bytes();
    factors += kChunks / kChunksOfUnit * kTileRows * kShape.kinds() * 2;
  }

 private:
  static constexpr unsigned kChunksOfUnit =
      kShape.unit_values < kChunkValues ? 1 : kShape.unit_values / kChunkValues;
};

}  // namespace satchel::kernels::cuda
