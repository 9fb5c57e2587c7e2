// What the model of four metrics says of a model whose numbers are small enough to count by hand.
#include "app/eval/measure/serving.h"

#include <gtest/gtest.h>

#include "runtime/model/config.h"

namespace satchel::eval {
namespace {

// 2 heads of 4 over one of K and V, rows of 8.
runtime::LayerConfig layer_of(std::size_t ffn_width) {
  runtime::LayerConfig layer;
  layer.attention.n_heads = 2;
  layer.attention.n_kv_heads = 1;
  layer.attention.head_dim = 4;
  layer.ffn_width = ffn_width;
  return layer;
}

runtime::ModelConfig model_of(const runtime::LayerConfig& layer) {
  runtime::ModelConfig config;
  config.width = 8;
  config.layers = {layer};
  return config;
}

// Q and output 8·8 each, K and V 4·8 each, three of 10·8: 192 + 240 weights.
constexpr double kWeights = 432;

TEST(PrefillFlops, are_those_of_weights_and_of_what_each_token_attends_to) {
  const runtime::ModelConfig config = model_of(layer_of(10));
  EXPECT_EQ(prefill_flops(config, 1), 2 * kWeights + 4 * 8);
  EXPECT_EQ(prefill_flops(config, 5), 2 * kWeights * 5 + 4 * 8 * 15);
}

TEST(PrefillFlops, of_attention_end_at_the_window) {
  runtime::LayerConfig layer = layer_of(10);
  layer.attention.window = 2;
  EXPECT_EQ(prefill_flops(model_of(layer), 5), 2 * kWeights * 5 + 4 * 8 * (1 + 2 + 2 + 2 + 2));
}

TEST(PrefillFlops, count_the_experts_that_a_token_uses) {
  runtime::LayerConfig layer = layer_of(5);
  layer.n_experts = 16;
  layer.n_experts_used = 2;
  EXPECT_EQ(prefill_flops(model_of(layer), 5), prefill_flops(model_of(layer_of(10)), 5));
}

TEST(PrefillFlops, of_a_layer_that_reads_anothers_lanes_lack_keys_and_values) {
  runtime::LayerConfig layer = layer_of(10);
  layer.reads_lanes_of = 0;
  EXPECT_EQ(prefill_flops(model_of(layer), 1), 2 * (kWeights - 2 * 4 * 8) + 4 * 8);
}

}  // namespace
}  // namespace satchel::eval
