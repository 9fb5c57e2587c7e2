// GatedLayer: the tensors that layers of attention and a gated feed-forward have in common, by the
// names GGUF files give them ("blk.0.attn_q.weight" …). What an architecture has beside them it
// wishes for itself.
//   owns  nothing: the addresses are Weights'
#pragma once

#include <string>
#include <vector>

#include "runtime/model/graph.h"

namespace satchel::runtime {

struct GatedLayer {
  const kernels::Weight *q = nullptr, *k = nullptr, *v = nullptr;  // [q_ or kv_width, width]
  const kernels::Weight* attention_out = nullptr;                  // [width, q_width]
  const kernels::Weight *gate = nullptr, *up = nullptr;            // [ffn_width, width]
  const kernels::Weight* down = nullptr;                           // [width, ffn_width]
  const float *attention_gain = nullptr, *ffn_gain = nullptr;      // [width]
};

// "blk.<layer>."
std::string layer_prefix(std::size_t layer);
// Into `to`, which stays where it is until the weights are loaded.
void wish_for(GatedLayer& to, const ModelConfig& config, std::size_t layer,
              std::vector<TensorWish>& wishes);

}  // namespace satchel::runtime
