// Cache: all lanes of one conversation, in extents of the engine's arena. A lane is sinks (the
// first tokens, exact) + body (packed pages, each at one tier) + tail (the newest tokens, exact).
//
//   text     each segment has a kind (SegmentKind). A document may be compressed after its prefill,
//            a message and its answer when the turn has ended; pinned text never.
//   step     begin_step -> for each layer { append -> [choose_pages] -> attend over lanes(layer) ->
//            [observe_step] } -> end_step. A step of several tokens, the first of them the next one
//            and the others drafted, ends with those that are accepted
//   drafts   want_draft_pages -> a step, which chooses them -> for each drafted token {
//            begin_draft -> as a step -> end_draft } -> begin_step, before which they are gone
//   prefill  begin_prefill, begin_probe -> Prefill. A text longer than largest_fit() goes in
//            several spans.
//   states   of recurrent layers: states() hands them to every pass over tokens, which this cache
//            begins and adopts with its step or prefill
//   reach    where the text is longer than the model's context, attention sees only part of it
//            (CacheEdit::set_reach)
//   the rest  compactor(), edit(), inspector(): each says in its header what it does
//   invariants  1 the arena's limit holds; no call of a decode step allocates, except that every
//                 eighth flush makes lists longer
//               2 begin_step and begin_prefill fail before anything changes (out_of_memory,
//                 CACHE_FULL), or the rest cannot run out of memory
//               3 a prefill that is not committed leaves no trace, nor does a step that is not
//                 ended
//               4 positions rise inside a page; K is stored after RoPE at the token's own
//                 position, so evicting moves no position
//               5 a token's tier only falls; a page is made anew only by a compaction
//               6 tails: [n_tokens - n_tail, n_tokens), and all flush in the same step
//               7 after an error of the backend every lane is whole: what it held it holds, or part
//                 of what the call was to do is done. Where exact tokens were on their way (a
//                 flush, a commit) that is unknown: then the cache is empty.
//   threads  one call at a time over all caches of an arena
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "kernels/contract/backend.h"
#include "kvcache/compaction/compactor.h"
#include "kvcache/edit/cache_edit.h"
#include "kvcache/inspect/cache_inspector.h"
#include "kvcache/lanes/arena.h"
#include "kvcache/layout/text_segments.h"
#include "kvcache/planning/memory_planner.h"
#include "kvcache/planning/prefill_plan.h"
#include "kvcache/prefill/prefill.h"
#include "kvcache/recipes/recipe.h"
#include "kvcache/recurrent/recurrent_states.h"
#include "kvcache/shape/cache_shape.h"
#include "kvcache/stages/stage.h"
#include "kvcache/state/cache_stats.h"

namespace satchel::kvcache {

class Cache {
 public:
  // Takes sinks, tails and scratch of all lanes from the arena, and computes on its backend. Fails
  // with out_of_memory (MEMORY) naming the least that would do.
  static Result<std::unique_ptr<Cache>> open(std::shared_ptr<Arena> arena, const CacheShape& shape,
                                             const Recipe& recipe);
  ~Cache();
  // An empty cache of the same shape and recipe over the same arena.
  Result<std::unique_ptr<Cache>> twin() const;
  // A second cache that holds the same; pages are shared.
  Result<std::unique_ptr<Cache>> fork();
  // The same under another recipe, as it is held now (follow_recipe() brings it down). Fails with
  // unsupported, CACHE_RECIPE, where something is held in a way that the recipe has no tier for, or
  // waits for a decision.
  Result<std::unique_ptr<Cache>> fork(const Recipe& recipe);

  const CacheShape& shape() const;
  const Recipe& recipe() const;
  Arena& arena();
  std::size_t n_tokens() const;  // seen: also the position of the next token
  std::span<const TextSegment> segments() const;
  const Reach& reach() const;
  // Positions from the first token that is seen to the next one: n_tokens() where all is in reach.
  std::size_t n_seen() const;
  CacheStats stats() const;
  void clear();  // back to empty

  CacheEdit edit();
  Compactor compactor();
  CacheInspector inspector();

  // n_tokens <= step_room()
  Result<void> begin_step(std::size_t n_tokens = 1);
  // Tokens that the next step may take, so that it holds what as many steps would, and gives back
  // those that are not kept. 1 where a token changes more than the tails, or a query chooses what
  // it reads.
  std::size_t step_room() const;
  // Bytes of the arena that must be free for the next step.
  std::size_t step_needs(std::size_t n_tokens = 1) const;
  // k, v [n, n_kv_heads, head_dim] fp32 after RoPE of the step's tokens, at positions n_tokens() …
  Result<void> append(std::size_t layer, const float* k, const float* v);
  // Where the recipe reads only some pages: which ones, for q [n_heads, head_dim]. Far pages that
  // the layer reads are in memory until the arena's next move. Else nothing.
  Result<void> choose_pages(std::size_t layer, const float* q);
  // first_token 0, n_tokens the step's, or 1. Within a step as append() left it; else after
  // refresh_lanes().
  kernels::Sequence lanes(std::size_t layer) const;
  // Shows the backend where the lanes are now: after the last lease, which may have moved them.
  Result<void> refresh_lanes();
  // Far pages of a layer, for who reads its lanes outside a step: after refresh_lanes(), until the
  // arena's next move.
  Result<void> fetch_lanes(std::size_t layer) { return show_fetched(layer); }
  // Pages live in the arena's far store.
  bool is_far() const;
  bool needs_step() const;  // whether observe_step() is wanted in this step
  Result<void> observe_step(std::size_t layer, const float* q, const float* lse,
                            const kernels::Batch& batch);
  // Keeps the first n_kept of the step's tokens, at least one.
  Result<void> end_step(std::size_t n_kept = 1);

  // The next step chooses, of each lane, the n_pages pages that had most of its first token's
  // attention: what drafts read beside sinks and tail. Without memory for scores, a lane keeps its
  // earlier choice.
  void want_draft_pages(std::size_t n_pages);
  bool chooses_draft_pages() const;  // whether choose_draft_pages() is wanted in this step
  // q, lse of the step's first token, which is the batch.
  Result<void> choose_draft_pages(std::size_t layer, const float* q, const float* lse,
                                  const kernels::Batch& batch);
  bool has_draft_pages() const;
  // A token behind the text and those drafted before it. It attends to less than a step would, and
  // nothing of it stays.
  //   needs  has_draft_pages(), and step_room() for one token more
  Result<void> begin_draft();
  void end_draft();
  std::size_t n_drafted() const;

  // Whether the recipe's scorer needs q and k of a prefill before RoPE, which the pass must then
  // keep.
  bool needs_pre_rope() const;
  // As in planning/plan_prefill.h, of what is free.
  PrefillPlan largest_fit(const PrefillRequest& request, const PassBytes& pass) const;
  std::size_t prefill_needs(const PrefillRequest& request, const PassBytes& pass) const;
  // As Prefill::begin().
  Result<Prefill> begin_prefill(PrefillPlan plan);
  // All of the request, held as finely as fits, and as it asks.
  Result<Prefill> begin_prefill(const PrefillRequest& request);
  Result<Prefill> begin_probe(const ProbeJob& job, std::size_t n_tokens,
                              std::size_t first_position);
  bool needs_second_pass() const;
  std::optional<ProbeJob> next_probe(std::size_t chunk_tokens) const;

  // Whether the recipe wants a head-budget profile and the shape has none; one that was made since.
  // What has been decided stays.
  bool needs_head_budgets() const;
  void set_head_budgets(std::shared_ptr<const HeadBudgets> budgets);

  // Of recurrent layers: in a step or prefill, carry() for each of them. A replay begins by itself.
  RecurrentStates& states();
  CacheState& state();  // for this layer

 private:
  static Result<std::unique_ptr<Cache>> make(std::shared_ptr<Arena> arena, const CacheShape& shape,
                                             const Recipe& recipe);
  explicit Cache(std::unique_ptr<CacheState> state);
  Result<void> show_fetched(std::size_t layer);
  std::unique_ptr<CacheState> state_;
};

}  // namespace satchel::kvcache
