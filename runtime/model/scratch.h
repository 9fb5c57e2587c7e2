// Scratch: how much of the arena each kind of pass through the model takes, and where each array
// lies in it. The estimator and the passes themselves ask here, so that they cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kvcache/lanes/arena.h"
#include "kvcache/planning/pass_bytes.h"
#include "runtime/model/config.h"

namespace satchel::runtime {

// Tokens that go through a layer at once when n_before positions were read before them: as many as
// keep one operation within the backend's WorkLimits. A function of model, backend and position
// alone, so that every run cuts alike; falls as n_before grows, never below 16.
std::size_t chunk_tokens(const ModelConfig& config, std::size_t n_before);

// Arrays of one chunk. The two halves of a layer share their memory, and so do the logits.
struct Workspace {
  float* normed = nullptr;  // [chunk, width]; also what attention and FFN give back
  float *q = nullptr, *k = nullptr, *v = nullptr;
  float* attended = nullptr;        // [chunk, n_heads * head_dim]
  float* lse = nullptr;             // [chunk, n_heads]
  float* attention_gate = nullptr;  // [chunk, n_heads * head_dim], where a layer has one
  // Where a layer is latent: what queries are made of, queries of all heads as they are projected,
  // the latent and what is rotated beside it, a head's rows before and behind a product, values of
  // all heads. [chunk, each by LatentConfig]
  float *query_latent = nullptr, *head_queries = nullptr;
  float *latent = nullptr, *rotated_key = nullptr;
  float *head_in = nullptr, *head_out = nullptr, *head_values = nullptr;
  float *gate = nullptr, *up = nullptr;  // [chunk, ffn_width], over q … lse
  // Where a layer has experts, behind `up`: what one of them is given, and the router's logits.
  float* taken = nullptr;   // [chunk, width]
  float* routed = nullptr;  // [chunk, n_experts]
  // Where a feed-forward stands beside them or all tokens share one, further behind: what it gives,
  // and what they give.
  float *beside = nullptr, *sum = nullptr;  // [chunk, width]
  // Where layers are given something of each token, over q … too: its embedding, what a layer is
  // given, what it makes of that.
  float* embedded = nullptr;  // [chunk, width]
  float *given = nullptr, *of_token = nullptr,
        *per_layer_gate = nullptr;  // [chunk, per_layer_width]
  // Where a layer is a gated short convolution, over q … too: its three rows of each token, and
  // what it makes of them: [chunk, 3 · width], [chunk, width].
  // Where it is Gated DeltaNet or Mamba-2: rows of n_channels() and what its convolution makes of
  // them, the gate and what the layer gives [chunk, value_width() or width()], and a number of each
  // head, with Gated DeltaNet two.
  float *conv_rows = nullptr, *convolved = nullptr;
  float *recurrent_gate = nullptr, *recurrent_out = nullptr;
  float *recurrent_step = nullptr, *delta_strength = nullptr;
  float* logits = nullptr;    // [n_logits, n_vocabulary], over q … routed
  float* rotation = nullptr;  // [chunk, n_rotated / 2, 2] of the layer in work
  // q and k before RoPE, where the cache wants them.
  float *pre_rope_q = nullptr, *pre_rope_k = nullptr;
};

// What a pass is.
struct PassSize {
  std::size_t n_tokens = 0;  // whose hidden states are held
  std::size_t n_chunk = 0;   // of them, through a layer at once
  std::size_t n_logits = 1;  // rows of logits at the end
  bool keeps_pre_rope = false;
};
// n_tokens behind n_before others.
PassSize prefill_size(const ModelConfig& config, std::size_t n_before, std::size_t n_tokens,
                      bool keeps_pre_rope = false);
// One token of each of n_sequences.
PassSize decoding_size(std::size_t n_sequences);

// What a pass leases: hidden [n_tokens, width], positions [n_tokens], the workspace of a chunk.
class PassScratch {
 public:
  static std::size_t bytes(const ModelConfig& config, const PassSize& size);
  static Result<PassScratch> take(kvcache::Arena& arena, const ModelConfig& config,
                                  const PassSize& size);
  float* hidden() const { return hidden_; }
  std::int32_t* positions() const { return positions_; }
  const Workspace& work() const { return work_; }

 private:
  kvcache::Arena::Lease lease_;
  float* hidden_ = nullptr;
  std::int32_t* positions_ = nullptr;
  Workspace work_;
};

// The last hidden states (normed) of a prefill and of its replay, kept to be compared.
//   rows   min(n_tokens, kFidelityTokens)
std::size_t fidelity_rows(std::size_t n_tokens);

// Of these tokens every kFidelityStride-th, counted back from the last: in every layer the queries
// (after RoPE) and the log of the sum of exp over all that they saw. What they see later shows how
// much of the attention is left.
inline constexpr std::size_t kFidelityStride = 8;  // chosen: 16 of 128
class AttentionSamples {
 public:
  static std::size_t bytes(const ModelConfig& config, std::size_t n_tokens);
  AttentionSamples() = default;  // none
  // Laid out from `base`, which has room for bytes() (backend's memory) and outlives it, as config.
  AttentionSamples(const ModelConfig& config, std::size_t n_tokens, std::byte* base);

  std::size_t n() const { return n_; }
  std::size_t token(std::size_t sample) const;  // of the n_tokens; rising
  float* queries(std::size_t layer) const;      // [n(), n_heads, head_dim]
  float* lse(std::size_t layer) const;          // [n(), n_heads]

 private:
  const ModelConfig* config_ = nullptr;
  std::size_t n_tokens_ = 0, n_ = 0;
  std::byte* base_ = nullptr;
};

// What is kept of a prefill until it is measured: hidden states, then samples.
struct MeasuredRows {
  float* rows = nullptr;  // [fidelity_rows(n_tokens), width]
  AttentionSamples samples;
};
MeasuredRows measured_rows(const ModelConfig& config, std::size_t n_tokens, std::byte* base);
std::size_t kept_bytes(const ModelConfig& config, std::size_t n_tokens);
// That, and the replay's rows beside it.
std::size_t fidelity_bytes(const ModelConfig& config, std::size_t n_tokens);

// What passes over prompts lease, for the cache's planning. measures: what is measured later counts
// too.
kvcache::PassBytes pass_bytes(const ModelConfig& config, bool keeps_pre_rope, bool measures);

// All that a prefill leases beside what the cache leases for it: kept rows, then the pass.
std::size_t prefill_lease_bytes(const ModelConfig& config, std::size_t n_tokens,
                                bool keeps_pre_rope = false);

}  // namespace satchel::runtime
