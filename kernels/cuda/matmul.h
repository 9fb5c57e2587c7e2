// Products with weights, and rows of them read back. Pointers are device memory.
//   numbers  an activation is two fp16 values whose sum has 22 bits of it (its token's scaled by a
//            power of two, so that neither leaves fp16): a product is as exact as one of fp32, and
//            costs nothing while a token uses two of the eight columns that an instruction has
//            anyway. Sums run in fp32, their order does not depend on which tokens are beside one
//   differs  kernels.md 6.2 (B): activations of one fp16; offsets taken off sums. Both were
//            simulated to err by 5e-4 and 4e-5
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/contract/weight_type.h"
#include "kernels/cuda/tile_layout.h"

namespace satchel::kernels::cuda {

struct DeviceMatrix {
  WeightType type = WeightType::f32;  // f32, f16, bf16: rows as the file has them; else tiles
  unsigned n_out = 0, n_in = 0;
  const std::byte* bytes = nullptr;
  TilePlan plan = {};
};

// Activations as operands B, made once for the products that share them.
struct Operands {
  uint2* fragments = nullptr;  // [step][n_sets][lane]
  float* sums = nullptr;       // [step][n_sets][column], of a step's 16 values
  float* inverse = nullptr;    // [n_tokens], what a product is times
};
inline constexpr unsigned kColumns = 8, kTokensOfSet = 4;  // of a set of columns; a token has two
// What they take, each array at a multiple of 256 bytes from `at`; at null: n_bytes alone.
struct OperandPlan {
  Operands operands;
  std::size_t n_bytes = 0;
};
OperandPlan plan_operands(std::byte* at, std::size_t n_tokens, std::size_t n_in);
cudaError_t make_operands(cudaStream_t stream, const float* x, std::size_t n_tokens,
                          std::size_t n_in, const Operands& out);

// out [n_tokens, n_out] = x · weightᵀ. Tiles take the operands, the other types x itself.
cudaError_t multiply(cudaStream_t stream, const DeviceMatrix& weight, const float* x,
                     const Operands& operands, std::size_t n_tokens, float* out);
// out[i] = row ids[i], as the file's format defines it, bit for bit.
cudaError_t read_rows(cudaStream_t stream, const DeviceMatrix& table, const std::int32_t* ids,
                      std::size_t n_ids, float* out);

}  // namespace satchel::kernels::cuda
