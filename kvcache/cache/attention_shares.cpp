#include "kvcache/cache/attention_shares.h"

#include <algorithm>
#include <vector>

#include "kvcache/cache/cache.h"
#include "kvcache/inspect/lanes_shown.h"
#include "kvcache/state/cache_state.h"
#include "kvcache/state/score_slots.h"

namespace satchel::kvcache {

std::size_t attention_work_bytes(Cache& cache) {
  std::size_t n_slots = 1;
  for (const Lane& lane : cache.state().lanes) n_slots = std::max(n_slots, lane.n_slots());
  return Arena::rounded_up(n_slots * sizeof(float));
}

Result<bool> add_attention(Cache& cache, std::size_t layer, const LayerQueries& queries,
                           std::byte* work, std::span<float> shares) {
  CacheState& s = cache.state();
  const std::span<const std::int32_t> positions = queries.positions_here;
  SATCHEL_ASSERT(s.prefill == nullptr && shares.size() == s.text.n_tokens && !positions.empty());
  s.undo_open_step();
  const LayerShape& shape = s.layout.shape.layers[layer];
  const std::size_t first = s.layout.first_lane[layer];
  const std::vector<std::size_t> shown = lanes_shown(s.layout.shape);
  if (std::ranges::find(shown, first) == shown.end()) return false;
  const Observation seen{.purpose = Purpose::decoding,
                         .layer = shape,
                         .batch = {.positions = queries.positions,
                                   .n_tokens = positions.size(),
                                   .position_min = positions.front(),
                                   .position_max = positions.back()},
                         .positions = positions,
                         .q = queries.q,
                         .lse = queries.lse,
                         .span_end = s.text.n_tokens};
  std::vector<float> of_layer(shares.size());
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    const std::size_t lane = first + head;
    SATCHEL_TRY(score_slots_in(s, shape, head, lane, work, [&](const ObservedLane& observed) {
      return score_lanes(s.backend, seen, {&observed, 1}, {});
    }));
    SATCHEL_TRY(add_by_position(s, s.lanes[lane], of_layer));
  }
  for (std::size_t t = 0; t < shares.size(); ++t)
    shares[t] += of_layer[t] / static_cast<float>(shape.n_kv_heads);
  return true;
}

}  // namespace satchel::kvcache
