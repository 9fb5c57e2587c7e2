// How a quantised weight type lies in memory once it is repacked for the CPU (packed_weight.h), as
// constants that both the repacker and the kernels of every level read.
#pragma once

#include <cstddef>

#include "kernels/contract/weight_type.h"

namespace satchel::kernels::cpu {

inline constexpr std::size_t kGroupRows = 16;    // rows that lie interleaved
inline constexpr std::size_t kBlockValues = 32;  // values of a row under one activation scale
inline constexpr std::size_t kBlockPairs = kBlockValues / 2;

// value = scale * (code - offset), or scale * code + minimum
struct PackedShape {
  int code_bits = 0;  // 4, 5, 6 unsigned; 8 signed; 0: this type is not repacked
  int offset = 0;
  bool has_minimum = false;
  bool half_scales = true;  // fp16 as in the file, or fp32 where a scale is a product
  std::size_t scales = 1;   // in a block

  constexpr std::size_t code_bytes() const {  // of one block of a group
    return kGroupRows * kBlockValues * static_cast<std::size_t>(code_bits) / 8;
  }
  constexpr std::size_t block_bytes() const { return code_bytes() + scale_bytes(); }
  constexpr std::size_t scale_bytes() const {  // of one block of a group, minima included
    return kGroupRows * (half_scales ? 2u : 4u) * (scales + (has_minimum ? 1u : 0u));
  }
};

constexpr PackedShape packed_shape(WeightType type) {
  switch (type) {
    case WeightType::q4_0:
      return {.code_bits = 4, .offset = 8};
    case WeightType::q4_1:
      return {.code_bits = 4, .has_minimum = true};
    case WeightType::q5_0:
      return {.code_bits = 5, .offset = 16};
    case WeightType::q5_1:
      return {.code_bits = 5, .has_minimum = true};
    case WeightType::q8_0:
      return {.code_bits = 8};
    case WeightType::q4_k:
      return {.code_bits = 4, .has_minimum = true, .half_scales = false};
    case WeightType::q6_k:
      return {.code_bits = 6, .offset = 32, .half_scales = false, .scales = 2};
    case WeightType::f32:
    case WeightType::f16:
    case WeightType::bf16:
      break;
  }
  return {};
}

}  // namespace satchel::kernels::cpu
