// Activations of up to 16 tokens as operand B of the byte matrix instruction, made once for all
// products that share them; prompts' are half_operands.h.
//   numbers  32 values of a token are 16-bit integers times one scale, their largest magnitude /
//            kMostCode, as in the cpu backend: the error is below 1.6e-5 of the largest. Below
//            1e-30 all are 0. NaN or infinity makes the scale NaN, so that it is not lost. An
//            integer is two signed bytes, 256 · high + low, in two columns of the operand; their
//            products are joined again in one thread, exactly.
//   differs  llama.cpp uses one byte per activation, cuBLAS one fp16. Both are too coarse for the
//            limits of decoding that all backends share (1e-4). Two bytes cost half of two fp16.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kTokensOfSet = 4;          // of a set of 8 columns: a token has two
inline constexpr float kMostCode = 127 * 256 + 127;  // both bytes at their most

// What 32 values of a token share.
struct alignas(16) StepOfToken {
  float scale;
  int sums[2];     // of the integers, first and second 16
  float weighted;  // scale · both sums
};
// One set for a set's tokens, an even number for more; tokens past the last are 0.
struct Operands {
  uint2* fragments =
      nullptr;  // [step][n_sets][thread]: column thread / 4 = 2 · token + (0 high, 1 low)
  StepOfToken* steps = nullptr;  // [step][n_sets][kTokensOfSet]
  unsigned n_sets = 0;
  friend bool operator==(const Operands&, const Operands&) = default;
};
// What they take, each array at a multiple of 256 bytes from `at`; at null: n_bytes alone.
struct OperandPlan {
  Operands operands;
  std::size_t n_bytes = 0;
};
OperandPlan plan_operands(std::byte* at, std::size_t n_tokens, std::size_t n_in);

// What operands are made of: [n_tokens, n_in], n_in a multiple of 32.
struct Activations {
  const float* x = nullptr;
  // Then x · 1 / sqrt(mean(x²) + epsilon) · gain is taken, and written to `normed`: the bytes of
  // rms_norm() (rows.h).
  const float* gain = nullptr;
  float epsilon = 0;
  float* normed = nullptr;
  // Or activation(x) · up: the bytes of glu().
  const float* up = nullptr;
  Activation activation = Activation::silu;
  friend bool operator==(const Activations&, const Activations&) = default;
};
cudaError_t make_operands(Queue& queue, const Activations& from, std::size_t n_tokens,
                          std::size_t n_in, const Operands& out);

}  // namespace satchel::kernels::cuda
