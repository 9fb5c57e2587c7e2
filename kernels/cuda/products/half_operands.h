// Activations of prompts as operand B of the fp16 matrix instruction, made once for all products
// that share them.
//   numbers  a token's values times a power of two that brings the largest into [2^14, 2^15),
//            rounded to fp16: so nothing overflows, and values down to 2^-28 of the largest keep 11
//            bits. NaN or infinity makes the token's factor NaN, so that it is not lost
//   error    2e-4 of a product's usual size, as much again for the weights (half_rows.h). One byte
//            per activation (llama.cpp's MMQ) errs by some 5e-3, bf16 by 2e-3
//   order    within 16 values of a row: those of thread t of four, k = 4 t … 4 t + 3, are its words
//            t and t + 4, so that operand A is made from four codes as they lie (tile_layout.h)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/products/operands.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kPromptTokens = 64;
// Operands are filled up with 0 to a multiple of 64 tokens; of more, to one of 128.
constexpr std::size_t whole_tokens(std::size_t n) {
  const std::size_t whole = n > kPromptTokens ? 2 * kPromptTokens : kPromptTokens;
  return (n + whole - 1) / whole * whole;
}

struct HalfOperands {
  std::uint32_t* pairs = nullptr;  // [whole n_tokens][words_of_row]
  float* sizes = nullptr;          // [whole n_tokens]: 2^14 over what values are times
  unsigned words_of_row = 0;       // for n_in filled up to whole chunks
  friend bool operator==(const HalfOperands&, const HalfOperands&) = default;
};
struct HalfOperandPlan {
  HalfOperands operands;
  std::size_t n_bytes = 0;
};
// As plan_operands().
HalfOperandPlan plan_half_operands(std::byte* at, std::size_t n_tokens, std::size_t n_in);
// n_in: a multiple of 4.
cudaError_t make_half_operands(Queue& queue, const Activations& from, std::size_t n_tokens,
                               std::size_t n_in, const HalfOperands& out);

}  // namespace satchel::kernels::cuda
