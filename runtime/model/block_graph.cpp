#include "runtime/model/block_graph.h"

namespace satchel::runtime {

BlockGraph::BlockGraph(kernels::Backend& backend, const ModelConfig& config,
                       const BlockStyle& style)
    : Graph(backend, config), style_(style) {
  layers_.reserve(config.n_layers());
  for (std::size_t i = 0; i < config.n_layers(); ++i)
    layers_.push_back({.attention = AttentionPart(backend_, config_, style_, i),
                       .convolution = ShortConvPart(backend_, config_, style_, i),
                       .feed_forward = FeedForwardPart(backend_, config_, style_, i),
                       .per_layer = PerLayerPart(backend_, config_, style_, i)});
}

std::vector<TensorSpec> BlockGraph::tensors() {
  std::vector<TensorSpec> specs;
  spec_of_ends(specs);
  if (config_.per_layer_width != 0) per_layer_tables_.spec(config_, specs);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    if (config_.layers[i].is_recurrent())
      layer.convolution.spec(specs);
    else
      layer.attention.spec(specs);
    layer.feed_forward.spec(specs);
    if (config_.per_layer_width != 0) layer.per_layer.spec(specs);
  }
  return specs;
}

Result<void> BlockGraph::project(const LayerStep& step, Project what, const float* x) {
  return layers_[step.layer].attention.make_queries(step, what, x);
}

Result<void> BlockGraph::finish(const LayerStep& step, float* x) {
  SATCHEL_TRY(layers_[step.layer].attention.add_attended(step, x));
  return finish_layer(step, x);
}

Result<void> BlockGraph::recur(const LayerStep& step,
                               std::span<const kernels::StateSequence> sequences, float* x) {
  SATCHEL_TRY(layers_[step.layer].convolution.add(step, sequences, x));
  return finish_layer(step, x);
}

Result<void> BlockGraph::finish_layer(const LayerStep& step, float* x) {
  SATCHEL_TRY(layers_[step.layer].feed_forward.add(step, x, chosen_));
  if (config_.per_layer_width != 0)
    SATCHEL_TRY(layers_[step.layer].per_layer.add(step, embedding(), per_layer_tables_, rows_, x));
  const float scale = layer(step).output_scale;
  if (scale == 1) return {};
  return backend_.scale(x, scale, step.batch.n_tokens * config_.width);
}

}  // namespace satchel::runtime
