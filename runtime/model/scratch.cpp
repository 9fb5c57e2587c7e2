#include "runtime/model/scratch.h"

#include <algorithm>
#include <bit>

#include "kernels/base/assert.h"
#include "runtime/fidelity/fidelity.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kAlign = 256;  // as the arena hands out
constexpr std::size_t kChunkMin = 16;

std::size_t padded(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}
std::size_t padded_floats(std::size_t n) {
  return padded(n * sizeof(float));
}

// The widest arrays of all layers.
struct Widths {
  std::size_t q = 0, kv = 0, heads = 0, ffn = 0, rotated = 0, experts = 0;
  std::size_t attention_gate = 0, conv_rows = 0, convolved = 0;
  std::size_t recurrent = 0, recurrent_heads = 0, delta_heads = 0;
  std::size_t query_latent = 0, head_queries = 0, head_rows = 0, head_values = 0;
  std::size_t latent = 0, rotated_key = 0;
  bool are_beside = false, is_shared = false;  // experts and a feed-forward, one for all tokens
};
void widen(Widths& out, const LatentConfig& latent, std::size_t n_heads) {
  out.query_latent = std::max(out.query_latent, latent.query_rank);
  out.head_queries = std::max(out.head_queries, n_heads * latent.query_dim());
  out.head_rows = std::max({out.head_rows, latent.plain, latent.rank, latent.value_dim});
  out.head_values = std::max(out.head_values, n_heads * latent.value_dim);
  out.latent = std::max(out.latent, latent.rank);
  out.rotated_key = std::max(out.rotated_key, latent.rotated);
}

Widths widest(const ModelConfig& config) {
  Widths out;
  for (const LayerConfig& layer : config.layers) {
    if (layer.latent.is_there()) widen(out, layer.latent, layer.attention.n_heads);
    out.q = std::max(out.q, layer.q_width());
    out.kv = std::max(out.kv, layer.kv_width());
    out.heads = std::max(out.heads, layer.attention.n_heads);
    out.ffn = std::max({out.ffn, layer.ffn_width, layer.ffn_beside, layer.ffn_shared});
    out.are_beside = out.are_beside || layer.ffn_beside != 0;
    out.is_shared = out.is_shared || layer.ffn_shared != 0;
    out.rotated = std::max(out.rotated, layer.attention.n_rotated());
    out.experts = std::max(out.experts, layer.n_experts);
    if (layer.has_output_gate) out.attention_gate = std::max(out.attention_gate, layer.q_width());
    const std::size_t conv = layer.conv_taps != 0 ? config.width : 0;
    const std::size_t channels = std::max(layer.delta.n_channels(), layer.mamba.n_channels());
    out.conv_rows = std::max({out.conv_rows, 3 * conv, channels});
    out.convolved = std::max({out.convolved, conv, channels});
    out.recurrent = std::max({out.recurrent, layer.delta.value_width(), layer.mamba.width()});
    out.delta_heads = std::max(out.delta_heads, layer.delta.n_value_heads);
    out.recurrent_heads = std::max({out.recurrent_heads, out.delta_heads, layer.mamba.n_heads});
  }
  return out;
}

// Lays the arrays of a chunk out from `base` (null: only measures) and returns the bytes.
std::size_t lay_out(const ModelConfig& config, const PassSize& size, std::byte* base,
                    Workspace& work) {
  std::size_t at = 0;
  const auto place = [&](std::size_t n_floats) {
    float* array = base == nullptr ? nullptr : reinterpret_cast<float*>(base + at);
    at += padded_floats(n_floats);
    return array;
  };
  const Widths widths = widest(config);
  const std::size_t n = size.n_chunk;
  work.rotation = place(n * widths.rotated);
  if (size.keeps_pre_rope) {
    work.pre_rope_q = place(n * widths.q);
    work.pre_rope_k = place(n * widths.kv);
  }
  work.normed = place(n * config.width);
  const std::size_t shared = at;
  work.q = place(n * widths.q);
  work.k = place(n * widths.kv);
  work.v = place(n * widths.kv);
  work.attended = place(n * widths.q);
  work.lse = place(n * widths.heads);
  if (widths.attention_gate != 0) work.attention_gate = place(n * widths.attention_gate);
  if (widths.latent != 0) {
    work.query_latent = place(n * widths.query_latent);
    work.head_queries = place(n * widths.head_queries);
    work.latent = place(n * widths.latent);
    work.rotated_key = place(n * widths.rotated_key);
    work.head_in = place(n * widths.head_rows);
    work.head_out = place(n * widths.head_rows);
    work.head_values = place(n * widths.head_values);
  }
  std::size_t end = at;
  at = shared;
  work.gate = place(n * widths.ffn);
  work.up = place(n * widths.ffn);
  if (widths.experts != 0) {
    work.taken = place(n * config.width);
    work.routed = place(n * widths.experts);
  }
  if (widths.are_beside || widths.is_shared) work.beside = place(n * config.width);
  if (widths.are_beside) work.sum = place(n * config.width);
  if (config.per_layer_width != 0) {
    end = std::max(end, at);
    at = shared;
    work.embedded = place(n * config.width);
    work.given = place(n * config.per_layer_width);
    work.of_token = place(n * config.per_layer_width);
    work.per_layer_gate = place(n * config.per_layer_width);
  }
  if (widths.conv_rows != 0) {
    end = std::max(end, at);
    at = shared;
    work.conv_rows = place(n * widths.conv_rows);
    work.convolved = place(n * widths.convolved);
  }
  if (widths.recurrent != 0) {
    work.recurrent_gate = place(n * widths.recurrent);
    work.recurrent_out = place(n * widths.recurrent);
    work.recurrent_step = place(n * widths.recurrent_heads);
  }
  if (widths.delta_heads != 0) work.delta_strength = place(n * widths.delta_heads);
  end = std::max(end, at);
  at = shared;
  work.logits = place(size.n_logits * config.n_vocabulary);
  return std::max(end, at);
}

std::size_t head_bytes(const ModelConfig& config, const PassSize& size) {
  return padded_floats(size.n_tokens * config.width) + padded(size.n_tokens * sizeof(std::int32_t));
}

// Multiply-adds that a token costs in the largest single operation of the model, where n_visible
// positions are seen: a fused projection or feed-forward is one operation, as no stop is looked at
// inside.
std::size_t largest_operation(const ModelConfig& config, std::size_t n_visible) {
  std::size_t largest = 1;
  for (const LayerConfig& layer : config.layers) {
    const std::size_t window = layer.attention.window;
    const std::size_t seen = window == 0 ? n_visible : std::min(window, n_visible);
    const std::size_t ffn_width = layer.ffn_width * std::max<std::size_t>(1, layer.n_experts_used);
    const DeltaConfig& delta = layer.delta;
    const MambaConfig& mamba = layer.mamba;
    const std::size_t n_queries = layer.q_width() * (layer.has_output_gate ? 2 : 1);
    largest = std::max(
        {largest, config.width * (3 * ffn_width + layer.n_experts),
         config.width * 3 * std::max(layer.ffn_beside, layer.ffn_shared),
         config.width * (n_queries + 2 * layer.kv_width()),
         config.width * (delta.n_channels() + delta.value_width() + 2 * delta.n_value_heads),
         3 * delta.value_width() * delta.key_dim,
         config.width * (mamba.n_channels() + mamba.width() + mamba.n_heads),
         2 * mamba.width() * mamba.state_dim, 2 * seen * layer.q_width(),
         layer.conv_taps == 0 ? 0 : 3 * config.width * config.width});
  }
  return largest;
}

}  // namespace

std::size_t chunk_tokens(const ModelConfig& config, std::size_t n_before) {
  SATCHEL_ASSERT(config.work_limits.n_tokens >= kChunkMin);
  const std::size_t fit = config.work_limits.multiply_adds / largest_operation(config, n_before);
  return std::clamp(std::bit_floor(fit), kChunkMin, config.work_limits.n_tokens);
}

PassSize prefill_size(const ModelConfig& config, std::size_t n_before, std::size_t n_tokens,
                      bool keeps_pre_rope) {
  return {.n_tokens = n_tokens,
          .n_chunk = std::min(n_tokens, chunk_tokens(config, n_before)),
          .keeps_pre_rope = keeps_pre_rope};
}

PassSize decoding_size(std::size_t n_sequences) {
  return {.n_tokens = n_sequences, .n_chunk = n_sequences, .n_logits = n_sequences};
}

std::size_t PassScratch::bytes(const ModelConfig& config, const PassSize& size) {
  Workspace unused;
  return head_bytes(config, size) + lay_out(config, size, nullptr, unused);
}

Result<PassScratch> PassScratch::take(kvcache::Arena& arena, const ModelConfig& config,
                                      const PassSize& size) {
  SATCHEL_ASSERT(size.n_tokens > 0);
  PassScratch scratch;
  SATCHEL_TRY_ASSIGN(scratch.lease_, arena.take_scratch(bytes(config, size)));
  std::byte* base = scratch.lease_.data();
  scratch.hidden_ = reinterpret_cast<float*>(base);
  scratch.positions_ =
      reinterpret_cast<std::int32_t*>(base + padded_floats(size.n_tokens * config.width));
  lay_out(config, size, base + head_bytes(config, size), scratch.work_);
  return scratch;
}

std::size_t fidelity_rows(std::size_t n_tokens) {
  return std::min(n_tokens, kFidelityTokens);
}

namespace {

// Queries of all layers, then lse of all layers; in floats from the beginning.
std::size_t queries_at(const ModelConfig& config, std::size_t layer, std::size_t n) {
  std::size_t at = 0;
  for (std::size_t l = 0; l < layer; ++l) at += n * config.layers[l].q_width();
  return at;
}
std::size_t lse_at(const ModelConfig& config, std::size_t layer, std::size_t n) {
  std::size_t at = queries_at(config, config.n_layers(), n);
  for (std::size_t l = 0; l < layer; ++l) at += n * config.layers[l].attention.n_heads;
  return at;
}
std::size_t rows_bytes(const ModelConfig& config, std::size_t n_tokens) {
  return padded_floats(fidelity_rows(n_tokens) * config.width);
}

}  // namespace

AttentionSamples::AttentionSamples(const ModelConfig& config, std::size_t n_tokens, std::byte* base)
    : config_(&config),
      n_tokens_(n_tokens),
      n_((fidelity_rows(n_tokens) + kFidelityStride - 1) / kFidelityStride),
      base_(base) {}

std::size_t AttentionSamples::token(std::size_t sample) const {
  SATCHEL_ASSERT(sample < n_);
  return n_tokens_ - 1 - kFidelityStride * (n_ - 1 - sample);
}

float* AttentionSamples::queries(std::size_t layer) const {
  return reinterpret_cast<float*>(base_) + queries_at(*config_, layer, n_);
}

float* AttentionSamples::lse(std::size_t layer) const {
  return reinterpret_cast<float*>(base_) + lse_at(*config_, layer, n_);
}

std::size_t AttentionSamples::bytes(const ModelConfig& config, std::size_t n_tokens) {
  const AttentionSamples samples(config, n_tokens, nullptr);
  return padded_floats(lse_at(config, config.n_layers(), samples.n()));
}

MeasuredRows measured_rows(const ModelConfig& config, std::size_t n_tokens, std::byte* base) {
  return {.rows = reinterpret_cast<float*>(base),
          .samples = AttentionSamples(config, n_tokens, base + rows_bytes(config, n_tokens))};
}

std::size_t kept_bytes(const ModelConfig& config, std::size_t n_tokens) {
  return rows_bytes(config, n_tokens) + AttentionSamples::bytes(config, n_tokens);
}

std::size_t fidelity_bytes(const ModelConfig& config, std::size_t n_tokens) {
  return kept_bytes(config, n_tokens) + rows_bytes(config, n_tokens);
}

kvcache::PassBytes pass_bytes(const ModelConfig& config, bool keeps_pre_rope, bool measures) {
  kvcache::PassBytes bytes{.row_bytes = {config.width * sizeof(float), sizeof(std::int32_t)}};
  for (std::size_t n = 0; n <= chunk_tokens(config, 0); ++n) {
    Workspace unused;
    const PassSize size{.n_tokens = n, .n_chunk = n, .keeps_pre_rope = keeps_pre_rope};
    bytes.chunk_bytes.push_back(lay_out(config, size, nullptr, unused));
  }
  for (std::size_t n = 0; measures && n <= kFidelityTokens; ++n)
    bytes.measured_bytes.push_back(fidelity_bytes(config, n));
  return bytes;
}

std::size_t prefill_lease_bytes(const ModelConfig& config, std::size_t n_tokens,
                                bool keeps_pre_rope) {
  return fidelity_bytes(config, n_tokens) +
         PassScratch::bytes(config, prefill_size(config, 0, n_tokens, keeps_pre_rope));
}

}  // namespace satchel::runtime
