// The operations of one instruction level on rows of fp32 (called by vector_ops.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"

namespace satchel::kernels::cpu {

struct RopeJob {
  float* x = nullptr;  // [n_tokens, n_heads, head_dim]
  std::size_t n_tokens = 0, n_heads = 0, head_dim = 0;
  const float* rotation = nullptr;  // [n_tokens, n_pairs, 2] cos, sin
  std::size_t n_pairs = 0;
  bool adjacent = true;  // pairs (2i, 2i + 1), else (i, i + n_pairs)
};

// A short convolution of channels first … first + n - 1, n at most kConvChannels, then SiLU.
struct ConvJob {
  const float* before = nullptr;  // [n_taps - 1, width]; null: zeros
  const float* rows = nullptr;    // [n_tokens, width]
  const float* taps = nullptr;    // [width, n_taps]
  const float* bias = nullptr;    // [width]; null: none
  std::size_t n_tokens = 0, width = 0, n_taps = 0;
  std::size_t first = 0, n = 0;
  float* out = nullptr;  // [n_tokens, width]
};
inline constexpr std::size_t kConvChannels = 64;

// One head over some tokens, its columns of S one block after the other: with f = strength,
//   S = kept · S + k ⊗ (f · v), out = qᵀS; where it corrects, v less kᵀ(kept · S)
struct LinearAttentionJob {
  const float* before = nullptr;                     // S [key_dim, value_dim]; null: zeros
  float* behind = nullptr;                           // the same; may be `before`
  const float *q = nullptr, *k = nullptr;            // rows of key_dim
  const float* v = nullptr;                          // rows of value_dim
  std::size_t row_stride = 0, out_stride = 0;        // of q, k and v; of out
  const float *kept = nullptr, *strength = nullptr;  // [n_tokens]
  std::size_t n_tokens = 0, key_dim = 0, value_dim = 0;
  bool corrects = false;  // the delta rule
  float* out = nullptr;   // rows of value_dim
};

struct VectorOpsTable {
  void (*rms_norm)(const float* x, const float* gain, std::size_t width, float epsilon,
                   float* out);  // one row
  void (*glu_silu)(float* gate, const float* up, std::size_t n);
  void (*glu_gelu)(float* gate, const float* up, std::size_t n);  // the tanh form
  void (*glu_clamped)(float* gate, const float* up, std::size_t n);
  void (*glu_sigmoid)(float* gate, const float* up, std::size_t n);
  void (*glu_relu)(float* gate, const float* up, std::size_t n);  // up may be gate
  void (*add)(float* x, const float* y, std::size_t n);
  void (*scale)(float* x, float factor, std::size_t n);
  void (*soft_cap)(float* x, float cap, std::size_t n);
  void (*multiply)(float* x, const float* y, std::size_t n);
  void (*exp_less)(float* x, float y, std::size_t n);  // x = exp(x - y)
  void (*widen)(const Half* x, std::size_t n, float* out);
  // Σ x[i] · (linear[i] + square[i] · x[i])
  float (*quadratic)(const float* x, const float* linear, const float* square, std::size_t n);
  float (*sum)(const float* x, std::size_t n);
  // cos and sin of one position times n_pairs frequencies: [n_pairs, 2]
  void (*rotation)(std::int32_t position, const double* inverse_frequency, std::size_t n_pairs,
                   float* out);
  void (*rope)(const RopeJob& job);
  void (*conv_silu)(const ConvJob& job);
  void (*linear_attention)(const LinearAttentionJob& job);
  // The first i >= begin with x[i] not <= limit (so a NaN is found), or n.
  std::size_t (*find_above)(const float* x, std::size_t begin, std::size_t n, float limit);
};

extern const VectorOpsTable kVectorOpsAvx2, kVectorOpsAvx512;

}  // namespace satchel::kernels::cpu
