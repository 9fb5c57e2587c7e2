// What attention does in one layer while a text is read exactly, in main memory, so that a rule is
// a few lines of arithmetic. For this folder and calibration.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "app/eval/lane_rules/lane_rule.h"

namespace satchel::eval {

// Those without a window, whose lanes are those of a table, or all of the cache. Query heads and
// lanes are counted over the ones that are shown, layer by layer.
enum class SeenLayers { without_window, all };

struct SeenLayer {
  const kvcache::LayerShape& shape;
  std::size_t first_head = 0, first_lane = 0;
  std::size_t n_tokens = 0;
  std::vector<float> q = {}, k = {};  // [n_tokens, heads, head_dim] after RoPE …
  std::vector<float> pre_rope_q = {}, pre_rope_k = {};  // … and before
  std::vector<float> v = {};    // [n_tokens, heads, head_dim]; of a latent layer empty
  std::vector<float> lse = {};  // [n_tokens, n_heads], over what a token sees

  // Of the layer's query head `head`, in the softmax over what it sees: the logit and the share
  // that the token at `from` gives to the one at `to`.
  double logit(std::size_t head, std::size_t from, std::size_t to) const;
  double attention(std::size_t head, std::size_t from, std::size_t to) const;
};
using SeeLayer = std::function<void(const SeenLayer& layer)>;

// Reads `ids` at once, under no recipe that forgets, and shows each layer when it is done. Part
// number `part` of n_parts of the search, for progress.
Result<void> read_seen(const LaneSearch& search, std::span<const std::int32_t> ids,
                       std::size_t part, std::size_t n_parts, const SeeLayer& see,
                       SeenLayers which = SeenLayers::without_window);

// Brings n floats of the backend's memory behind those that are there.
Result<void> append_rows(kernels::Backend& backend, std::vector<float>& to, const float* from,
                         std::size_t n);

std::size_t n_heads_of(const runtime::ModelConfig& config);
// Of each lane the largest of its query heads.
std::vector<double> largest_of_heads(const runtime::ModelConfig& config,
                                     std::span<const double> heads);

}  // namespace satchel::eval
