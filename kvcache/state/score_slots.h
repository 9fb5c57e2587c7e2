// What queries see of one lane, slot by slot: for scorers that count steps, for drafts, and for
// people who look at what an answer attended to.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/stages/stage.h"
#include "kvcache/state/cache_state.h"
#include "kvcache/state/page_positions.h"

namespace satchel::kvcache {

// see(seen, head, index of its lane) for each head of a layer, of the open step's first token; q,
// lse: its own, which is the batch.
template <class See>
Result<void> see_layer(CacheState& s, std::size_t layer, const float* q, const float* lse,
                       const kernels::Batch& batch, const See& see) {
  const LayerShape& shape = s.layout.shape.layers[layer];
  const auto position = static_cast<std::int32_t>(s.text.n_tokens);
  const Observation seen{.purpose = Purpose::decoding,
                         .layer = shape,
                         .batch = batch,
                         .positions = std::span(&position, 1),
                         .q = q,
                         .lse = lse,
                         .span_first = s.text.n_tokens,
                         .span_end = s.text.n_tokens + 1};
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head)
    SATCHEL_TRY(see(seen, head, s.layout.first_lane[layer] + head));
  return {};
}

// observe(lane) adds to the lane's scores, which are then in s.step.by_slot, in the order of
// kernels::ScoreArgs.
//   work  backend's memory, n_slots() floats of the lane
template <class Observe>
Result<void> score_slots_in(CacheState& s, const LayerShape& layer, std::size_t head,
                            std::size_t index, std::byte* work, const Observe& observe) {
  const Lane& lane = s.lanes[index];
  s.step.by_slot.assign(lane.n_slots(), 0.0f);
  SATCHEL_TRY(s.backend.upload(work, std::as_bytes(std::span(s.step.by_slot))));
  const ObservedLane observed{.keys = {.runs = lane.runs(), .pages = lane.page_views()},
                              .first_head = head * layer.n_group(),
                              .n_group = layer.n_group(),
                              .scores = reinterpret_cast<float*>(work)};
  SATCHEL_TRY(observe(observed));
  return s.backend.download(std::as_writable_bytes(std::span(s.step.by_slot)), work);
}

template <class Observe>
Result<void> score_slots(CacheState& s, const LayerShape& layer, std::size_t head,
                         std::size_t index, const Observe& observe) {
  SATCHEL_TRY_ASSIGN(const Arena::Lease lease,
                     s.arena.take_scratch(s.lanes[index].n_slots() * sizeof(float)));
  SATCHEL_TRY(s.show_all_if_stale());
  return score_slots_in(s, layer, head, index, lease.data(), observe);
}

// Adds what is in s.step.by_slot of a lane to where its tokens stand, out of all that are seen.
inline Result<void> add_by_position(CacheState& s, const Lane& lane, std::span<float> by_position) {
  const std::vector<float>& by_slot = s.step.by_slot;
  std::size_t slot = 0;
  for (std::size_t t = 0; t < lane.n_sinks(); ++t) by_position[t] += by_slot[slot++];
  const std::size_t tail = by_position.size() - lane.n_tail();
  for (std::size_t t = 0; t < lane.n_tail(); ++t) by_position[tail + t] += by_slot[slot++];
  std::array<std::int32_t, kernels::kPageTokens> positions;
  for (const PageRecord& page : lane.pages_in_reach()) {
    SATCHEL_TRY(find_positions(s, page, positions));
    for (std::size_t i = 0; i < page.n_tokens; ++i, ++slot)
      if (page.live.has(i)) by_position[static_cast<std::size_t>(positions[i])] += by_slot[slot];
  }
  return {};
}

}  // namespace satchel::kvcache
