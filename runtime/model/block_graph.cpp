#include "runtime/model/block_graph.h"

#include <algorithm>

namespace satchel::runtime {
namespace {

// Of layers that draft tokens ahead (MTP), as converters name them.
constexpr const char* kDraftTensors[] = {"attn_norm.weight",
                                         "post_attention_norm.weight",
                                         "attn_q.weight",
                                         "attn_k.weight",
                                         "attn_v.weight",
                                         "attn_output.weight",
                                         "attn_q_norm.weight",
                                         "attn_k_norm.weight",
                                         "ffn_gate.weight",
                                         "ffn_up.weight",
                                         "ffn_down.weight",
                                         "ffn_gate_inp.weight",
                                         "exp_probs_b.bias",
                                         "ffn_gate_exps.weight",
                                         "ffn_up_exps.weight",
                                         "ffn_down_exps.weight",
                                         "ffn_gate_up_exps.weight",
                                         "ffn_gate_inp_shexp.weight",
                                         "ffn_gate_shexp.weight",
                                         "ffn_up_shexp.weight",
                                         "ffn_down_shexp.weight",
                                         "nextn.eh_proj.weight",
                                         "nextn.enorm.weight",
                                         "nextn.hnorm.weight",
                                         "nextn.embed_tokens.weight",
                                         "nextn.shared_head_head.weight",
                                         "nextn.shared_head_norm.weight"};

}  // namespace

BlockGraph::BlockGraph(kernels::Backend& backend, const ModelConfig& config,
                       const BlockStyle& style)
    : Graph(backend, config), style_(style) {
  layers_.reserve(config.n_layers());
  for (std::size_t i = 0; i < config.n_layers(); ++i)
    layers_.push_back({.attention = AttentionPart(backend_, config_, style_, i),
                       .latent = LatentPart(backend_, config_, style_, i),
                       .convolution = ShortConvPart(backend_, config_, style_, i),
                       .delta = GatedDeltaPart(backend_, config_, style_, i),
                       .mamba = Mamba2Part(backend_, config_, style_, i),
                       .feed_forward = FeedForwardPart(backend_, config_, style_, i),
                       .per_layer = PerLayerPart(backend_, config_, style_, i)});
}

std::vector<TensorSpec> BlockGraph::tensors() {
  std::vector<TensorSpec> specs;
  spec_of_ends(specs);
  if (config_.per_layer_width != 0) per_layer_tables_.spec(config_, specs);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    if (config_.layers[i].delta.is_there())
      layer.delta.spec(specs);
    else if (config_.layers[i].mamba.is_there())
      layer.mamba.spec(specs);
    else if (config_.layers[i].is_recurrent())
      layer.convolution.spec(specs);
    else if (config_.layers[i].latent.is_there())
      layer.latent.spec(specs);
    else
      layer.attention.spec(specs);
    layer.feed_forward.spec(specs);
    if (config_.per_layer_width != 0) layer.per_layer.spec(specs);
  }
  spec_of_draft_layers(specs);
  return specs;
}

// They are known and passed over.
void BlockGraph::spec_of_draft_layers(std::vector<TensorSpec>& specs) const {
  const LayerConfig& last = config_.layers.back();
  const std::size_t first = std::max(last.block, last.ffn_block) + 1;
  for (std::size_t i = 0; i < config_.n_draft_layers; ++i)
    for (const char* name : kDraftTensors)
      specs.push_back(
          {.name = "blk." + std::to_string(first + i) + "." + name, .is_optional = true});
}

Result<void> BlockGraph::project(const LayerStep& step, Project what, const float* x) {
  const Layer& parts = layers_[step.layer];
  return layer(step).latent.is_there() ? parts.latent.make_queries(step, what, x)
                                       : parts.attention.make_queries(step, what, x);
}

Result<void> BlockGraph::finish(const LayerStep& step, float* x) {
  const Layer& parts = layers_[step.layer];
  SATCHEL_TRY(layer(step).latent.is_there() ? parts.latent.add_attended(step, x)
                                            : parts.attention.add_attended(step, x));
  return finish_layer(step, x);
}

Result<void> BlockGraph::recur(const LayerStep& step,
                               std::span<const kernels::StateSequence> sequences, float* x) {
  const Layer& parts = layers_[step.layer];
  const LayerConfig& of = layer(step);
  SATCHEL_TRY(of.delta.is_there()   ? parts.delta.add(step, sequences, x)
              : of.mamba.is_there() ? parts.mamba.add(step, sequences, x)
                                    : parts.convolution.add(step, sequences, x));
  return finish_layer(step, x);
}

Result<void> BlockGraph::finish_layer(const LayerStep& step, float* x) {
  SATCHEL_TRY(layers_[step.layer].feed_forward.add(step, x, choice_));
  if (config_.per_layer_width != 0)
    SATCHEL_TRY(layers_[step.layer].per_layer.add(step, embedding(), per_layer_tables_, rows_, x));
  const float scale = layer(step).output_scale;
  if (scale == 1) return {};
  return backend_.scale(x, scale, step.batch.n_tokens * config_.width);
}

}  // namespace satchel::runtime
