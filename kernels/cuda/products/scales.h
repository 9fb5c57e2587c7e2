// Decodes the scales and minima of a row's groups in a chunk (tile_layout.h) to the fp32 values
// that the file format defines (kernels/reference/dequant*.cpp). For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/cache_hints.h"
#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/products/thread_planes.h"

namespace satchel::kernels::cuda {

// 2^(exponent - 128), below the normal numbers too.
__device__ __forceinline__ float power_of(unsigned exponent) {
  return __uint_as_float(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

// As they lie, in one load and another for the factors; what they stand for when it is asked for.
template <WeightType kType>
struct Scales {
  static constexpr TileShape kShape = tile_shape(kType);
  std::uint32_t words[2] = {}, factors = 0;

  // Of the row that is `below` rows below that of the planes.
  template <Reads kReads>
  __device__ __forceinline__ void load(const ThreadPlanes<kType>& from, unsigned below = 0) {
    constexpr unsigned kBytes = kShape.scale_bytes();
    static_assert(kBytes == 2 || kBytes == 4 || kBytes == 8);
    const std::byte* at = from.scales + below * kBytes;
    if constexpr (kBytes == 2) {
      words[0] = cuda::load<kReads>(reinterpret_cast<const unsigned short*>(at));
    } else if constexpr (kBytes == 4) {
      words[0] = cuda::load<kReads>(reinterpret_cast<const unsigned*>(at));
    } else {
      const uint2 both = cuda::load<kReads>(reinterpret_cast<const uint2*>(at));
      words[0] = both.x, words[1] = both.y;
    }
    if constexpr (kShape.has_factors()) {  // other chunks have them too
      const std::byte* unit = from.factors + below * kShape.kinds() * 2;
      if constexpr (kShape.has_minimum)
        factors = *reinterpret_cast<const unsigned*>(unit);
      else
        factors = *reinterpret_cast<const unsigned short*>(unit);
    }
  }

  // value = scale · (code - offset) + minimum
  __device__ __forceinline__ float scale(unsigned group) const {
    return value(group, 0, kShape.scale_offset);
  }
  __device__ __forceinline__ float minimum(unsigned group) const {
    if constexpr (!kShape.has_minimum) return 0;
    const float least = value(kShape.groups() + group, 1, 0);
    return kShape.has_factors() ? -least : least;
  }

 private:
  __device__ __forceinline__ float value(unsigned i, unsigned kind, int offset) const {
    if constexpr (kShape.form == ScaleForm::half)
      return half_value(static_cast<std::uint16_t>(words[i / 2] >> 16 * (i % 2)));
    const unsigned code = words[i / 4] >> 8 * (i % 4) & 255;
    if constexpr (kShape.form == ScaleForm::exponent) return power_of(code);
    const float factor = half_value(static_cast<std::uint16_t>(factors >> 16 * kind));
    return factor * static_cast<float>(static_cast<int>(code) - offset);
  }
};

}  // namespace satchel::kernels::cuda
