// What an open step sees of one lane, slot by slot: for scorers that count steps, and for drafts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/stages/stage.h"
#include "kvcache/state/cache_state.h"

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
template <class Observe>
Result<void> score_slots(CacheState& s, const LayerShape& layer, std::size_t head,
                         std::size_t index, const Observe& observe) {
  const Lane& lane = s.lanes[index];
  const std::size_t n_slots = lane.n_slots();
  SATCHEL_TRY_ASSIGN(const Arena::Lease lease, s.arena.take_scratch(n_slots * sizeof(float)));
  SATCHEL_TRY(s.show_all_if_stale());
  s.step.by_slot.assign(n_slots, 0.0f);
  SATCHEL_TRY(s.backend.upload(lease.data(), std::as_bytes(std::span(s.step.by_slot))));
  const ObservedLane observed{.keys = {.runs = lane.runs(), .pages = lane.page_views()},
                              .first_head = head * layer.n_group(),
                              .n_group = layer.n_group(),
                              .scores = reinterpret_cast<float*>(lease.data())};
  SATCHEL_TRY(observe(observed));
  return s.backend.download(std::as_writable_bytes(std::span(s.step.by_slot)), lease.data());
}

}  // namespace satchel::kvcache
