// The matrix products of one instruction level: plain functions on plain memory. The driver
// (matmul.h) owns threads, workspace and order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/weight_type.h"
#include "kernels/cpu/levels/cpu_level.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cpu {

// Activations as integers of 16 or 8 bits, one fp32 scale for 32 of them. Tokens lie in tiles of
// `tile` tokens, then of the powers of two that make up the rest, so that a kernel reads one
// stream:
//   codes  of each tile [n_blocks, 16, tile] words of two codes each, in order; or, for a kernel
//          that meets bytes, [n_blocks, 8, tile] words of four: of each eight codes 0 4 1 5, then 2
//          6 3 7
//   words  of each tile [n_blocks, 3, tile]: the scale; then for the first 16 and the last 16 codes
//          (type with one scale a block: for all 32, and nothing) their sum: as an integer times
//          -offset, for a type with minima as fp32 times the scale
struct Activations {
  std::int32_t* codes = nullptr;
  std::int32_t* words = nullptr;
};
inline constexpr std::size_t kBlockWords = 3;

struct QuantiseJob {
  QuantFormat shape;  // of the weight to be met
  int most = 0;       // what the largest magnitude of a block becomes: 32767 or 127
  bool as_bytes = false;
  const float* x = nullptr;  // [n_tokens, 32 * n_blocks]
  std::size_t n_tokens = 0, n_blocks = 0;
  Activations out;
};

// One group of 16 rows (repacked_weight.h), or two, against all tokens.
struct RepackedJob {
  WeightType type = WeightType::q8_0;
  const std::byte* group = nullptr;
  std::size_t n_blocks = 0, n_rows = 0;  // n_rows <= 16 are wanted
  // Bytes from `group` to a second one that is wanted as well, its outputs behind the first one's;
  // both are full then. 0: none.
  std::size_t next_group = 0;
  Activations x;
  std::size_t n_tokens = 0;
  float* out = nullptr;  // out[t * out_stride + row]
  std::size_t out_stride = 0;
  AskedAhead ahead = {};  // by a lone token
};

// Rows of f32, f16 or bf16 as they lie in the file, at any alignment.
struct FloatJob {
  WeightType type = WeightType::f32;
  const std::byte* rows = nullptr;
  std::size_t n_rows = 0, n_in = 0;
  const float* x = nullptr;  // [n_tokens, n_in]
  std::size_t n_tokens = 0;
  float* out = nullptr;  // out[t * out_stride + row]
  std::size_t out_stride = 0;
  AskedAhead ahead = {};
};

struct MatmulTable {
  std::size_t tile;  // tokens
  bool dots_bytes;   // matmul_bytes knows every type, else those whose pairs_in_16_bits() is not 0
  void (*quantise)(const QuantiseJob& job);
  void (*repacked)(const RepackedJob& job);  // activations in words of two codes
  void (*floats)(const FloatJob& job);
};

extern const MatmulTable kMatmulAvx2, kMatmulAvx512, kMatmulAvx512Vnni;

// Products with activations as bytes: units of their own, which share the time to compile.
void matmul_bytes_avx2(const RepackedJob& job);
void matmul_bytes_avx512(const RepackedJob& job);
void matmul_bytes_avx512vnni(const RepackedJob& job);

}  // namespace satchel::kernels::cpu
