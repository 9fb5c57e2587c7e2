// LayerMerge: what MiniCache's merge of neighbouring layers does to a cache, for measurements. In
// the deeper half of the layers, layers are taken in pairs. Of a token's keys in both (likewise of
// its values) one direction is kept and the length of each: x' = |x| e, y' = |y| e with
//     e = (sin((1 - t) a) x / |x| + sin(t a) y / |y|) / sin a,   a the angle between x and y.
// The tokens of a page whose directions differ most are left as they are.
//   saves   nothing: pages keep their size, with merged rows in them. saved_bytes() is what pages
//           that share a direction would save: an fp16 row less for each pair of rows, two fp16
//           lengths more; a retained token's number more, its rows as before
//   why     a page is one lane's, and lanes are freed, moved, saved and forgotten by themselves. A
//           shared direction would need an owner of its own in all of these
//   needs   a cache whose pages are exact (recipe `full`), that no fork shares pages with yet
//   errors  unsupported, LAYER_MERGE: a page is not exact, or no pair of layers is alike
//   source  arXiv:2405.14366 (MiniCache), equations 2 and 3; t = 0.6, 5 % retained
//   differs a page chooses its retained tokens, K and V each by their own angles, where the authors
//           set a threshold on the angles of a prompt. Sinks and the newest tokens stay exact.
//           Where a layer has a window or the two are not of one shape they are no pair
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

class Cache;
struct CacheState;

struct LayerMergeSettings {
  double towards_deeper = 0.6;   // t: 0 is the direction of the first layer, 1 that of the deeper
  double retained_share = 0.05;  // of a page's tokens
};

// Merges rows [n, head_dim] of both in place, but for the round(retained_share · n) with the
// largest angles (ties: the first ones). What is kept is rounded to fp16 before it is multiplied.
// Returns how many were left as they are.
std::size_t merge_rows(const LayerMergeSettings& settings, std::size_t head_dim,
                       std::span<float> first, std::span<float> deeper);

class LayerMerge {
 public:
  explicit LayerMerge(const LayerMergeSettings& settings = {}) : settings_(settings) {}
  // The pages that have been added since the last call.
  Result<void> merge_new_pages(Cache& cache);
  std::size_t saved_bytes() const { return saved_bytes_; }

 private:
  Result<void> merge_lanes(CacheState& cache, std::size_t first, std::size_t deeper);

  LayerMergeSettings settings_;
  std::vector<std::size_t> n_merged_;  // [n_lanes] pages
  std::size_t saved_bytes_ = 0;
};

}  // namespace satchel::kvcache
