// WeightType: the storage format of a weight matrix. The values are GGUF type ids; weight_type_of()
// converts a file's id. No backend supports formats that are not listed.
//   layout  a row is a sequence of blocks, each of block_values values in block_bytes bytes;
//           kernels/reference/dequant*.cpp defines their bits
//   source  ggml's block formats, sized as in the Python package gguf (GGML_QUANT_SIZES)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace satchel::kernels {

enum class WeightType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
};

inline constexpr std::array kWeightTypes = {
    WeightType::f32,     WeightType::f16,   WeightType::q4_0,    WeightType::q4_1,
    WeightType::q5_0,    WeightType::q5_1,  WeightType::q8_0,    WeightType::q2_k,
    WeightType::q3_k,    WeightType::q4_k,  WeightType::q5_k,    WeightType::q6_k,
    WeightType::iq1_s,   WeightType::iq1_m, WeightType::iq2_s,   WeightType::iq2_xs,
    WeightType::iq2_xxs, WeightType::iq3_s, WeightType::iq3_xxs, WeightType::iq4_nl,
    WeightType::iq4_xs,  WeightType::mxfp4, WeightType::tq1_0,   WeightType::tq2_0,
    WeightType::bf16};

struct WeightTypeTraits {
  const char* name;          // as people write it: "Q4_0"
  std::size_t block_values;  // a row's length is a multiple of this
  std::size_t block_bytes;
};

// Asserts that `type` is one of the enumerators.
const WeightTypeTraits& weight_type_traits(WeightType type);

// The type with this GGUF id, or nothing if no backend supports it.
std::optional<WeightType> weight_type_of(std::uint32_t gguf_id);

// Bytes of `n_values` consecutive values; nothing if that is not a whole number of blocks or the
// size overflows.
std::optional<std::size_t> row_bytes(WeightType type, std::size_t n_values);

}  // namespace satchel::kernels
