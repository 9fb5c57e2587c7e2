// Operations of layers with a constant state, which does not grow with the text: what they are
// given, what they compute, and how long the state is.
#pragma once

#include <cstddef>
#include <span>

namespace satchel::kernels {

// One conversation's part of a batch in such a layer: what the layer carried to token first_token,
// and where what it carries behind the last one goes. How many fp32 values that are, the operation
// says.
struct StateSequence {
  std::size_t first_token = 0, n_tokens = 0;  // at least one
  const float* before = nullptr;              // null: zeros, a text begins here
  float* behind = nullptr;                    // may be `before`
};

// Of sequences in order, together the whole batch.
inline std::size_t tokens_of(std::span<const StateSequence> sequences) {
  return sequences.empty() ? 0 : sequences.back().first_token + sequences.back().n_tokens;
}

// Gated short convolution (LFM2), causal and of each channel by itself. With s = B · x, in fp32:
//   out[t, c] = C[t, c] · Σ_j taps[c, j] · s[t - (n_taps - 1) + j, c]
//   state  [n_taps - 1, width]: s of the newest tokens, the oldest first. It stands before the
//          sequence's first token
//   source transformers' models/lfm2
struct ShortConvArgs {
  const float* rows = nullptr;               // [n_tokens, 3, width]: B, C and x of each token
  const float* taps = nullptr;               // [width, n_taps]
  std::size_t width = 0, n_taps = 0;         // n_taps from 2
  std::span<const StateSequence> sequences;  // in order, together the whole batch
  float* out = nullptr;                      // [n_tokens, width]

  std::size_t n_tokens() const { return tokens_of(sequences); }
  std::size_t state_values() const { return (n_taps - 1) * width; }
  void check() const;  // asserts what is required above
};

// The short convolution that other operations begin with, causal and of each channel by itself:
//   out[t, c] = silu(bias[c] + Σ_j taps[c, j] · rows[t - (n_taps - 1) + j, c])
//   state  [n_taps - 1, width]: rows of the newest tokens, the oldest first; the operation's own
//          values follow. It stands before the sequence's first token
struct SiluConv {
  const float* rows = nullptr;        // [n_tokens, width]
  const float* taps = nullptr;        // [width, n_taps]
  const float* bias = nullptr;        // [width]; null: none
  std::size_t width = 0, n_taps = 0;  // n_taps 2 … kTapsMax
  float* out = nullptr;               // [n_tokens, width]
};

// Gated delta rule (Gated DeltaNet) behind a short convolution, causal. The convolution's channels
// are q, k of every key head, then v of every value head. Queries and keys are divided by their
// length, sqrt(Σ x² + kLengthEpsilon). A value head h carries a matrix S [key_dim, value_dim]:
//   S = exp(rate[h] · softplus(decay[t, h] + decay_bias[h])) · S
//   S = S + k ⊗ (sigmoid(strength[t, h]) · (v - kᵀS))
//   out[t, h] = rms_norm(qᵀS / sqrt(key_dim)) · gain · silu(gate[t, h])
//   state  the convolution's, then S of every value head
//   source arXiv:2412.06464 (Gated DeltaNet); transformers' models/qwen3_5 and models/qwen3_next
struct GatedDeltaArgs {
  // The key head of a value head h.
  enum class KeyHeads {
    tiled,    // h % n_key_heads
    grouped,  // h / (n_value_heads / n_key_heads)
  };
  const float* rows = nullptr;  // [n_tokens, n_channels()]
  const float* taps = nullptr;  // [n_channels(), n_taps]
  std::size_t n_taps = 0;
  std::size_t n_key_heads = 0, n_value_heads = 0, key_dim = 0, value_dim = 0;
  KeyHeads key_heads = KeyHeads::tiled;
  const float *decay = nullptr, *strength = nullptr;   // [n_tokens, n_value_heads]
  const float *rate = nullptr, *decay_bias = nullptr;  // [n_value_heads]; rate below 0
  const float* gate = nullptr;                         // [n_tokens, n_value_heads, value_dim]
  const float* gain = nullptr;                         // [value_dim]
  float epsilon = 0;                                   // of rms_norm
  std::span<const StateSequence> sequences;            // in order, together the whole batch
  float* convolved = nullptr;                          // work [n_tokens, n_channels()]
  float* out = nullptr;                                // [n_tokens, n_value_heads, value_dim]

  std::size_t n_tokens() const { return tokens_of(sequences); }
  std::size_t n_channels() const { return 2 * n_key_heads * key_dim + n_value_heads * value_dim; }
  std::size_t key_head(std::size_t value_head) const {
    return key_heads == KeyHeads::tiled ? value_head % n_key_heads
                                        : value_head / (n_value_heads / n_key_heads);
  }
  SiluConv convolution() const {
    return {.rows = rows, .taps = taps, .width = n_channels(), .n_taps = n_taps, .out = convolved};
  }
  std::size_t tail_values() const { return (n_taps - 1) * n_channels(); }
  std::size_t state_values() const { return tail_values() + n_value_heads * key_dim * value_dim; }
  void check() const;  // asserts what is required above
};
inline constexpr float kLengthEpsilon = 1e-6f;

// Mamba-2 between its projections: a short convolution, then a selective state space, causal. The
// convolution's channels are x of every head, then B and C of every group. A head h of group
// h / (n_heads / n_groups) carries a matrix S [state_dim, head_dim]:
//   dt = softplus(step[t, h] + step_bias[h])
//   S = exp(rate[h] · dt) · S + B ⊗ (dt · x)
//   y[t, h] = CᵀS + skip[h] · x
//   out[t] = rms_norm(y[t] · silu(gate[t])) · gain, each group's heads normed together
//   state  the convolution's, then S of every head
//   source arXiv:2405.21060 (Mamba-2), section 7; transformers' models/granitemoehybrid and
//          models/nemotron_h
struct Mamba2Args {
  const float* rows = nullptr;       // [n_tokens, n_channels()]
  const float* taps = nullptr;       // [n_channels(), n_taps]
  const float* conv_bias = nullptr;  // [n_channels()]; null: none
  std::size_t n_taps = 0;
  std::size_t n_heads = 0, n_groups = 0, head_dim = 0, state_dim = 0;
  const float* step = nullptr;                        // [n_tokens, n_heads]
  const float *rate = nullptr, *step_bias = nullptr;  // [n_heads]; rate below 0
  const float* skip = nullptr;                        // [n_heads]
  const float* gate = nullptr;                        // [n_tokens, n_heads, head_dim]
  const float* gain = nullptr;                        // [n_heads, head_dim]
  float epsilon = 0;                                  // of rms_norm
  std::span<const StateSequence> sequences;           // in order, together the whole batch
  float* convolved = nullptr;                         // work [n_tokens, n_channels()]
  float* out = nullptr;                               // [n_tokens, n_heads, head_dim]

  std::size_t n_tokens() const { return tokens_of(sequences); }
  std::size_t width() const { return n_heads * head_dim; }
  std::size_t n_channels() const { return width() + 2 * n_groups * state_dim; }
  // Where a head's x, B and C begin in a row of the convolution.
  std::size_t x_at(std::size_t head) const { return head * head_dim; }
  std::size_t b_at(std::size_t head) const {
    return width() + head / (n_heads / n_groups) * state_dim;
  }
  std::size_t c_at(std::size_t head) const { return b_at(head) + n_groups * state_dim; }
  SiluConv convolution() const {
    return {.rows = rows,
            .taps = taps,
            .bias = conv_bias,
            .width = n_channels(),
            .n_taps = n_taps,
            .out = convolved};
  }
  std::size_t tail_values() const { return (n_taps - 1) * n_channels(); }
  std::size_t state_values() const { return tail_values() + width() * state_dim; }
  void check() const;  // asserts what is required above
};

// The longest side of a head's matrix that these operations take, and the most taps.
inline constexpr std::size_t kStateDimMax = 256, kTapsMax = 16;

// fp32 values in 8 bits each, as checkpoints of states hold them. Each kPackedBlock values (the
// last block may be shorter) have a scale, their largest |x| / 127; codes are x / scale, rounded.
//   packed  scales fp32 [n_blocks], codes int8 [n_values]; begins where a float may stand
//   limits  a block whose scale is not normal in fp32 packs as zeros; one with infinity or NaN
//           comes back as NaN
inline constexpr std::size_t kPackedBlock = 64;
constexpr std::size_t packed_blocks(std::size_t n_values) {
  return (n_values + kPackedBlock - 1) / kPackedBlock;
}
constexpr std::size_t packed_bytes(std::size_t n_values) {
  return packed_blocks(n_values) * sizeof(float) + n_values;
}

}  // namespace satchel::kernels
