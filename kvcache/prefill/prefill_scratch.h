// PrefillScratch: where the arrays of a prefill lie in its lease, for the layer in work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/planning/plan_prefill.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

struct PrefillScratch {
  PrefillScratch(CacheState& cache_in, PrefillPlan plan_in, Arena::Lease lease_in);

  std::size_t n_kv_heads() const { return cache.layout.shape.layers[layer].n_kv_heads; }
  TokenShape token() const { return cache.layout.shape.layers[layer].token(); }
  std::size_t head_dim() const { return token().head_dim; }
  std::size_t lane_index(std::size_t head) const { return cache.layout.first_lane[layer] + head; }
  bool is_probe() const { return plan.mode == PrefillMode::probe; }
  std::byte* at(std::size_t offset) const { return lease.data() + offset; }
  ExactBlock line(std::size_t head) const;   // all of it
  ExactBlock fresh(std::size_t head) const;  // its new tokens
  ExactBlock kept(std::size_t head) const;
  // The new tokens of a shared layer, once it has ended.
  ExactBlock held(std::size_t of_layer, std::size_t head) const;
  float* scores(std::size_t head) const;
  float* state() const;                                                 // null: the scorer has none
  kernels::Batch batch(std::size_t first, std::size_t n_tokens) const;  // of the span's tokens
  std::size_t headroom() const { return plan.line_tokens() - plan.n_tokens(); }
  Result<void> zero_scores() const;

  CacheState& cache;
  const PrefillPlan plan;
  const Arena::Lease lease;
  std::vector<std::int32_t> positions;  // of the new tokens
  std::size_t layer = 0;
};

}  // namespace satchel::kvcache
