// CacheShape: what a cache must know of a model: per layer the heads, their size, and how attention
// weighs and masks; layers may differ in all of it. And, where it has been measured, which lanes do
// the remembering, in which coordinates a lane's keys are small, and what selectors were taught.
//   lanes   one per (layer, KV head), layer-major: first_lane(layer) + head
//   window  belongs to a layer: a query at position p sees positions > p - window, and what no
//           later query can see the layer's lanes need not hold. It does not shorten the context.
//   shared  a model's layer that reads the lanes of an earlier one has no lanes, takes no bytes and
//           stands in no shape: to a cache it is more queries of the layer whose lanes it reads
//   states  a recurrent layer carries a state of constant size from token to token. It has no lanes
//           either: what a cache must know of it is its number of values, and how many of them
//           checkpoints keep as they are
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/base/half.h"
#include "kernels/contract/backend.h"
#include "kvcache/lanes/token_shape.h"
#include "kvcache/profile/head_budgets.h"
#include "kvcache/profile/key_bases.h"
#include "kvcache/profile/selector_weights.h"

namespace satchel::kvcache {

struct LayerShape {
  std::size_t n_heads = 0, n_kv_heads = 0, head_dim = 0;
  // Multi-head latent attention: a token's row in the lane is key and value, so that only one is
  // held. Attention gives weighted sums of keys, [n_heads, head_dim].
  bool is_latent = false;
  float attention_scale = 0;  // usually 1 / sqrt(head_dim)
  float soft_cap = 0;         // of the logits, as AttendArgs::soft_cap; 0: none
  std::size_t window = 0;     // 0: none
  kernels::RopePairs rope_pairs = kernels::RopePairs::adjacent;
  std::vector<double> inverse_frequency = {};  // [n_rotated / 2], scaling already applied
  std::vector<float> sink_logits = {};         // [n_heads], as AttendArgs::sink_logits; empty: none
  // Layers behind read these lanes too: a prefill has the layer's exact K and V to its end.
  bool is_shared = false;

  std::size_t n_group() const { return n_heads / n_kv_heads; }
  TokenShape token() const { return {.head_dim = head_dim, .is_latent = is_latent}; }
  std::size_t n_rotated() const { return 2 * inverse_frequency.size(); }
  // Reads this shape's frequencies in place.
  kernels::RopeTable rope() const {
    return {.inverse_frequency = inverse_frequency, .pairs = rope_pairs};
  }
  // What attention of this layer always is; queries, batch, sequences and results are the caller's.
  kernels::AttendArgs attend_args() const {
    kernels::AttendArgs args;
    args.n_heads = n_heads;
    args.n_kv_heads = n_kv_heads;
    args.head_dim = head_dim;
    args.scale = attention_scale;
    args.soft_cap = soft_cap;
    args.window = window;
    args.rope = rope();
    args.sink_logits = sink_logits;
    return args;
  }
  // [n_tokens, n_heads]: where logsumexp() begins, so that what it adds up is attend()'s lse.
  std::vector<float> lse_of_no_key(std::size_t n_tokens) const {
    std::vector<float> lse(n_tokens * n_heads, -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < lse.size() && !sink_logits.empty(); ++i)
      lse[i] = sink_logits[i % n_heads];
    return lse;
  }
  // What a token is to the networks of selectors: [q k v].
  std::size_t selector_width() const { return (n_heads + 2 * n_kv_heads) * head_dim; }
  bool suits(const SelectorWeights::Locret& taught) const {
    return taught.fc1.n_columns() == selector_width() && taught.fc2.n_rows() == n_kv_heads;
  }
  bool suits(const SelectorWeights::AttentionGate& taught) const {
    return taught.q.n_columns() == selector_width() && taught.out.n_rows() == n_kv_heads;
  }
  bool suits(const SelectorWeights::LoCoCo& taught) const {
    return taught.conv.shape[1] == 2 * head_dim;
  }
  // fp16 K and V of one token in the layer's lanes.
  std::size_t fp16_bytes_per_token() const { return n_kv_heads * token().fp16_bytes(); }
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

// Of a recurrent layer: fp32 values that it carries from token to token.
struct StateShape {
  std::size_t n_values = 0;
  // The first so many are never packed: rows of a convolution, which meet the next tokens as they
  // are, where a matrix is the sum of many.
  std::size_t n_exact = 0;
  friend bool operator==(const StateShape&, const StateShape&) = default;
};
// The largest state of a layer: one record of a snapshot holds it.
inline constexpr std::size_t kStateValuesMax = (std::size_t{8} << 20) / sizeof(float) - 64;

struct CacheShape {
  std::vector<LayerShape> layers;
  // Of each recurrent layer, in the model's order; empty: it has none.
  std::vector<StateShape> states = {};
  // Of the lanes of layers without a window; null: not measured yet.
  std::shared_ptr<const HeadBudgets> head_budgets = nullptr;
  // Of all lanes; page layouts point into it. Null: not measured yet.
  std::shared_ptr<const KeyBases> key_bases = nullptr;
  // What was trained for the model, each of all layers.
  SelectorSet selectors = {};

  std::size_t n_layers() const { return layers.size(); }
  std::size_t n_lanes() const { return first_lane(layers.size()); }
  // layer may be n_layers(): one past the last lane.
  std::size_t first_lane(std::size_t layer) const {
    SATCHEL_ASSERT(layer <= layers.size());
    std::size_t first = 0;
    for (std::size_t i = 0; i < layer; ++i) first += layers[i].n_kv_heads;
    return first;
  }
  std::size_t lane(std::size_t layer, std::size_t head) const {
    SATCHEL_ASSERT(head < layers[layer].n_kv_heads);
    return first_lane(layer) + head;
  }
  // Whether text can be seen only by reading all before it: of what a window has passed over, and
  // of a recurrent layer's state, nothing is there to read it by itself.
  bool reads_in_order() const {
    return !states.empty() || std::any_of(layers.begin(), layers.end(),
                                          [](const auto& layer) { return layer.window > 0; });
  }
  // Those of layers without a window, which take part in decisions: indices into all lanes.
  std::vector<std::size_t> deciding_lanes() const {
    std::vector<std::size_t> lanes;
    for (std::size_t layer = 0, first = 0; layer < layers.size(); ++layer) {
      for (std::size_t i = 0; layers[layer].window == 0 && i < layers[layer].n_kv_heads; ++i)
        lanes.push_back(first + i);
      first += layers[layer].n_kv_heads;
    }
    return lanes;
  }
  // head_dim of each of them.
  std::vector<std::size_t> deciding_head_dims() const {
    std::vector<std::size_t> head_dims;
    for (const LayerShape& layer : layers)
      if (layer.window == 0) head_dims.insert(head_dims.end(), layer.n_kv_heads, layer.head_dim);
    return head_dims;
  }
  // Whether a table can be of a model of this shape: as many lanes, keys of their sizes.
  bool suits(const HeadBudgets& budgets) const {
    const std::vector<std::size_t> head_dims = deciding_head_dims();
    if (budgets.n_lanes() != head_dims.size()) return false;
    if (!budgets.importance) return true;
    if (budgets.importance->lanes.size() != head_dims.size()) return false;
    for (std::size_t i = 0; i < head_dims.size(); ++i)
      if (budgets.importance->lanes[i].size() != 1 + 2 * head_dims[i]) return false;
    return true;
  }
  // Likewise, of all lanes.
  bool suits(const KeyBases& bases) const {
    std::size_t lane = 0;
    for (const LayerShape& layer : layers)
      for (std::size_t head = 0; head < layer.n_kv_heads; ++head, ++lane)
        if (lane >= bases.lanes.size() || bases.lanes[lane].head_dim != layer.head_dim)
          return false;
    return lane == bases.lanes.size();
  }
  // Likewise, of all layers: inputs and outputs of each have the layer's sizes.
  bool suits(const SelectorWeights& weights) const {
    if (weights.layers.size() != layers.size()) return false;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto fits = [&of = layers[i]](const auto& taught) { return of.suits(taught); };
      if (!std::visit(fits, weights.layers[i])) return false;
    }
    return true;
  }
  bool has_latent_lanes() const {
    return std::any_of(layers.begin(), layers.end(),
                       [](const LayerShape& layer) { return layer.is_latent; });
  }
  std::size_t head_dim_max() const {
    std::size_t most = 0;
    for (const LayerShape& layer : layers) most = std::max(most, layer.head_dim);
    return most;
  }
  // fp16 K and V of one token in every lane; a window does not make it less.
  std::size_t fp16_bytes_per_token() const {
    std::size_t bytes = 0;
    for (const LayerShape& layer : layers) bytes += layer.fp16_bytes_per_token();
    return bytes;
  }
};

}  // namespace satchel::kvcache
