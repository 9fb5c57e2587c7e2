// LayerPart: what the two halves of a layer (attention, feed-forward) share: names of tensors, an
// optional norm of what comes in, an optional norm of what goes out, and the sum.
//   owns  nothing: the addresses are Weights'
#pragma once

#include <vector>

#include "runtime/model/graph.h"

namespace satchel::runtime {

// How the layers of an architecture are built. Biases of attention and of experts are there where
// the file has them.
struct BlockStyle {
  enum class QkNorm {
    none,
    of_heads,  // each head of queries and keys, with gains [head_dim]
    of_rows,   // all heads together, with gains [q_width] and [kv_width]
  };
  bool has_norms_before = true;   // attn_norm, ffn_norm
  bool has_norms_behind = false;  // post_attention_norm, post_ffw_norm
  // What the norm before the feed-forward is called: ffn_norm, post_attention_norm, or, where the
  // feed-forward is a block of its own, attn_norm.
  enum class FfnNorm { ffn, post_attention, attention };
  FfnNorm ffn_norm = FfnNorm::ffn;
  QkNorm qk_norm = QkNorm::none;
  bool has_value_norm = false;    // of each head of values, without gains
  bool has_output_scale = false;  // layer_output_scale, where the file has it
  bool is_fused = false;  // attn_qkv holds queries, keys and values, ffn_up holds gate and up
  // relu: feed-forward and experts have no gate, and what they hold is squared.
  kernels::Activation activation = kernels::Activation::silu;
  // How much of what all tokens' expert gives is used, a router says; else all of it.
  bool has_shared_router = true;
  // The last norm is called token_embd_norm instead of output_norm.
  bool last_norm_is_token_embd_norm = false;
};

// Of a layer whose LayerShape has sink logits: the config has read it.
inline constexpr const char* kSinksTensor = "attn_sinks.weight";
// Of layers whose LayerConfig has them: likewise.
inline constexpr const char* kExpertFactorsTensor = "ffn_down_exps.scale";
inline constexpr const char* kChoiceBiasesTensor = "exp_probs_b.bias";
inline constexpr const char* kOutputScaleTensor = "layer_output_scale.weight";

class LayerPart {
 public:
  LayerPart(kernels::Backend& backend, const ModelConfig& config, const BlockStyle& style,
            std::size_t layer)
      : LayerPart(backend, config, style, layer, config.layers[layer].block) {}

 protected:
  // Of the file's tensors it has those of this block.
  LayerPart(kernels::Backend& backend, const ModelConfig& config, const BlockStyle& style,
            std::size_t layer, std::size_t block)
      : backend_(backend), config_(config), style_(style), layer_(layer), block_(block) {}

  const LayerConfig& sizes() const { return config_.layers[layer_]; }
  // The tensor "blk.<block>.<name>".
  TensorSpec matrix(const char* name, std::size_t n_out, std::size_t n_in,
                    const kernels::Weight*& to) const;
  TensorSpec vector(const char* name, std::size_t n, const float*& to) const;
  // A vector that no tensor has.
  static TensorSpec constant(float value, std::size_t n, const float*& to);
  // One that has its place in the config.
  TensorSpec known(const char* name) const;
  // The rows from first_row on of a tensor that has n_rows.
  static TensorSpec part_of(TensorSpec spec, std::size_t first_row, std::size_t n_rows);
  // Blocks of rows from first_row on, of a tensor that has as many in all as they and their gaps.
  static TensorSpec blocks_of(TensorSpec spec, std::size_t first_row, std::size_t block_rows,
                              std::size_t block_stride);
  void spec_of_norms(const char* before, const char* behind, std::vector<TensorSpec>& specs);

  // outs = projections of x, normed before if there is a norm for that.
  Result<void> project(const LayerStep& step, const float* x,
                       std::span<const kernels::Backend::Projection> projections) const;
  // x += factor · weight · from + bias, normed before if there is a norm for that.
  Result<void> add_product(const LayerStep& step, const float* from, const kernels::Weight* weight,
                           const float* bias, float* x) const;
  // x += factor · work.normed, normed before if there is a norm for that.
  Result<void> add_to(const LayerStep& step, float* x) const;

  kernels::Backend& backend_;
  const ModelConfig& config_;
  const BlockStyle& style_;
  std::size_t layer_, block_;
  const float *gain_before_ = nullptr, *gain_behind_ = nullptr;  // [width]; null: none
};

}  // namespace satchel::runtime
