#include "runtime/model/gated_layer.h"

namespace satchel::runtime {

std::string layer_prefix(std::size_t layer) {
  return "blk." + std::to_string(layer) + ".";
}

void wish_for(GatedLayer& to, const ModelConfig& config, std::size_t layer,
              std::vector<TensorWish>& wishes) {
  const std::string at = layer_prefix(layer);
  const LayerConfig& sizes = config.layers[layer];
  const auto matrix = [&](const char* name, std::size_t n_out, std::size_t n_in,
                          const kernels::Weight*& weight) {
    wishes.push_back({.name = at + name, .n_out = n_out, .n_in = n_in, .matrix = &weight});
  };
  const std::size_t width = config.width, ffn = sizes.ffn_width;
  wishes.push_back({.name = at + "attn_norm.weight", .n_in = width, .vector = &to.attention_gain});
  matrix("attn_q.weight", sizes.q_width(), width, to.q);
  matrix("attn_k.weight", sizes.kv_width(), width, to.k);
  matrix("attn_v.weight", sizes.kv_width(), width, to.v);
  matrix("attn_output.weight", width, sizes.q_width(), to.attention_out);
  wishes.push_back({.name = at + "ffn_norm.weight", .n_in = width, .vector = &to.ffn_gain});
  matrix("ffn_gate.weight", ffn, width, to.gate);
  matrix("ffn_up.weight", ffn, width, to.up);
  matrix("ffn_down.weight", width, ffn, to.down);
}

}  // namespace satchel::runtime
