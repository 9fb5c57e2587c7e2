// Prefill: tokens on their way into the lanes, or past them (a probe). Dropped without commit(), it
// leaves the cache as it was.
//   prefill  begin -> for each layer { begin_layer -> for each chunk { add_chunk -> attend over
//            lanes() -> [observe] } -> end_layer } -> commit. One layer's exact K and V of the span
//            exist at a time, and those of shared layers from their end on.
//   states   of recurrent layers: begin and commit() do for Cache::states() what they do for lanes;
//            for each such layer the caller carries all of the tokens between them
//   probe    the same with begin_probe: the tokens are seen by queries and then dropped; what was
//            observed of the text stays as scores
//   one at a time over a cache; no step is open
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kernels/contract/backend.h"
#include "kvcache/compaction/compaction_report.h"
#include "kvcache/layout/text_segments.h"
#include "kvcache/planning/prefill_plan.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

struct CacheState;

class Prefill {
 public:
  // The plan's tokens at the end of the text. A plan that does not stand any more, or has only its
  // request, is made here, with what is pending as fine as fits. Fails with CACHE_FULL,
  // CACHE_POSITION or PROMPT_EMPTY, and has then changed nothing.
  static Result<Prefill> begin(CacheState& cache, PrefillPlan plan);
  // n_tokens tokens at positions first_position … see the lanes and each other.
  static Result<Prefill> begin_probe(CacheState& cache, const ProbeJob& job, std::size_t n_tokens,
                                     std::size_t first_position);
  ~Prefill();
  Prefill(Prefill&&) noexcept;

  // ids [n_tokens]: of the span's tokens, for recipes that ask how often a text says a token; they
  // are compared with each other, nothing else. Before the first layer; without it nothing is
  // weighed. In a probe it changes nothing.
  void tell_ids(std::span<const std::int32_t> ids);
  Result<void> begin_layer(std::size_t layer);
  // k, v [n, n_kv_heads, head_dim] fp32 after RoPE: the next n tokens, in order. Of a latent layer
  // v is not read.
  Result<void> add_chunk(const float* k, const float* v, std::size_t n_tokens);
  // What the chunk last added attends to: history and this layer's tokens so far; first_token and
  // n_tokens are the caller's to set. Valid until the next call.
  kernels::Sequence lanes() const;
  // What a layer without lanes attends to that reads those of a shared layer, which has ended:
  // history and all of the span's tokens. Otherwise as lanes().
  Result<kernels::Sequence> shared_lanes(std::size_t layer);
  // Which observations are wanted; none: observe() need not be called.
  ScorerRequirements requirements() const;
  // Of the chunk last added; lse over all that its lanes() show;
  // pre_rope_q and hidden only where wanted.
  struct Seen {
    const float *q = nullptr, *lse = nullptr;
    const float *pre_rope_q = nullptr, *pre_rope_k = nullptr, *hidden = nullptr;
  };
  Result<void> observe(const Seen& seen);
  Result<void> end_layer();
  // needs   end_layer() of the last layer. Cannot run out of memory.
  Result<CompactionReport> commit();

  struct State;  // for this room

 private:
  explicit Prefill(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What a second pass should look at next, chunk_tokens at most; nothing: none is wanted.
std::optional<ProbeJob> next_probe(const CacheState& cache, std::size_t chunk_tokens);

}  // namespace satchel::kvcache
