// Scales and minima of a row's groups in a chunk (tile_layout.h), as the fp32 values that the
// file's format defines (kernels/reference/dequant*.cpp). For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/half.h"
#include "kernels/cuda/tile_layout.h"

namespace satchel::kernels::cuda {

// 2^(exponent - 128), below the normal numbers too.
__device__ __forceinline__ float power_of(unsigned exponent) {
  return __uint_as_float(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

template <WeightType kType>
struct Scales {
  static constexpr TileShape kShape = tile_shape(kType);
  static constexpr unsigned kGroups = kShape.groups();
  float scale[kGroups], minimum[kGroups];  // value = scale · (code - offset) + minimum

  __device__ __forceinline__ void load(const std::byte* tile, const TilePlan& plan, unsigned chunk,
                                       unsigned row) {
    const std::byte* at =
        tile + plan.scales_at + (std::size_t{chunk} * kTileRows + row) * kShape.scale_bytes();
    float factor[2] = {1.0f, 1.0f};
    if constexpr (kShape.has_factors()) {
      constexpr unsigned kChunksOfUnit = kShape.unit_values / kChunkValues;
      const std::byte* factors =
          tile + plan.factors_at +
          (std::size_t{chunk / kChunksOfUnit} * kTileRows + row) * kShape.kinds() * 2;
      for (unsigned kind = 0; kind < kShape.kinds(); ++kind)
        factor[kind] = half_value(reinterpret_cast<const std::uint16_t*>(factors)[kind]);
    }
    for (unsigned g = 0; g < kGroups; ++g) {
      scale[g] = value(at, g, factor[0], kShape.scale_offset);
      minimum[g] = 0;
      if constexpr (kShape.has_minimum) {
        const float least = value(at, kGroups + g, factor[1], 0);
        minimum[g] = kShape.has_factors() ? -least : least;
      }
    }
  }

 private:
  __device__ static __forceinline__ float value(const std::byte* at, unsigned i, float factor,
                                                int offset) {
    if constexpr (kShape.form == ScaleForm::half)
      return half_value(reinterpret_cast<const std::uint16_t*>(at)[i]);
    const unsigned code = reinterpret_cast<const unsigned char*>(at)[i];
    if constexpr (kShape.form == ScaleForm::exponent) return power_of(code);
    return factor * static_cast<float>(static_cast<int>(code) - offset);
  }
};

}  // namespace satchel::kernels::cuda
