// The weight types that kernels know, as constants. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>
#include <utility>

#include "kernels/contract/weight_type.h"

namespace satchel::kernels::cuda {

template <WeightType kType>
using TileType = std::integral_constant<WeightType, kType>;

template <class Call, WeightType... kTypes>
cudaError_t with_one_of(WeightType type, const Call& call,
                        std::integer_sequence<WeightType, kTypes...>) {
  cudaError_t error = cudaErrorInvalidValue;
  static_cast<void>(((type == kTypes && (error = call(TileType<kTypes>()), true)) || ...));
  return error;
}

// call(TileType<type>()); cudaErrorInvalidValue of a type without tiles.
template <class Call>
cudaError_t with_tile_type(WeightType type, const Call& call) {
  using enum WeightType;
  return with_one_of(type, call,
                     std::integer_sequence<WeightType, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k,
                                           q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4>());
}
template <class Call>
cudaError_t with_float_type(WeightType type, const Call& call) {
  using enum WeightType;
  return with_one_of(type, call, std::integer_sequence<WeightType, f32, f16, bf16>());
}

}  // namespace satchel::kernels::cuda
