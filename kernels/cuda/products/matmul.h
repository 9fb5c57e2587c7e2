// Products with weights, and rows of them read back. Pointers are device memory.
//   numbers  up to kDecodeTokens tokens (decoding) activations are integers of 16 bits and nothing
//            of the weights is rounded; products of more (prompts) are of fp16 operands with fp32
//            sums (half_operands.h), within 5e-4 of their usual size
//   order    the order of a sum depends on the weight's shape only, and on which of these two it
//            is. Decoding, tiles: exact integers within a group of values; then the groups of a
//            part of the row in fp32, in order; then the parts, in order (group_sum.h). Rows of
//            floats: 32 parts, one per thread of a warp, added by butterflies. Prompts: 16 values
//            at a time, over rising k; where that is few blocks, in splits that are added in order,
//            whose number depends on the tokens and the card too
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/contract/weight_type.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/products/half_operands.h"
#include "kernels/cuda/products/operands.h"
#include "kernels/cuda/weights/tile_layout.h"

namespace satchel::kernels::cuda {

struct DeviceMatrix {
  WeightType type = WeightType::f32;  // f32, f16, bf16: rows as the file has them; else tiles
  unsigned n_out = 0, n_in = 0;
  const std::byte* bytes = nullptr;
  TilePlan plan = {};
  const float* factors = nullptr;  // [n_out]: row_factors.h

  bool has_tiles() const { return plan.tile_bytes != 0; }
  bool takes_halves() const { return n_in % 4 == 0; }  // loads are of four values
  friend bool operator==(const DeviceMatrix&, const DeviceMatrix&) = default;
};

// out [n_tokens, n_out] = x · weightᵀ + bias; or out += that.
struct Product {
  const DeviceMatrix* weight = nullptr;
  float* out = nullptr;
  const float* bias = nullptr;  // [n_out]; null: none
  bool is_added = false;
};
// A block of the kernel for few tokens reads and unpacks a weight once for 16 of them.
inline constexpr std::size_t kDecodeTokens = 16;
// x [n_tokens, n_in] in the forms that products take: up to kDecodeTokens tokens integers where a
// weight has tiles, of more halves where it takes_halves(); x itself else.
struct ProductInput {
  const float* x = nullptr;
  std::size_t n_tokens = 0;
  Operands integers = {};
  HalfOperands halves = {};
  float* splits = nullptr;  // splits_bytes() of them
  unsigned n_multiprocessors = 1;
};
std::size_t splits_bytes(std::span<const Product> products, std::size_t n_tokens,
                         unsigned n_multiprocessors);
// One launch as long as types are alike.
cudaError_t multiply(Queue& queue, std::span<const Product> products, const ProductInput& input);
// out[i] = row ids[i], as the file's format defines it, bit for bit.
cudaError_t read_rows(Queue& queue, const DeviceMatrix& table, const std::int32_t* ids,
                      std::size_t n_ids, float* out);

}  // namespace satchel::kernels::cuda
