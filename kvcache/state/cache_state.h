// CacheState: what a Cache is made of, for the rooms of this layer that work on it (steps, prefill,
// compaction, edits, snapshot).
//   states      idle -> begin_step -> step_open -> end_step -> idle
//               idle -> begin_prefill / begin_probe -> prefill -> commit or dropped -> idle
//   invariants  1 the table shows each lane as it now is
//               2 n_tail <= tail_kept + since_flush in every lane; since_flush < kFlushTokens while
//                 idle, but after a failed flush, which the next call tries again
//               3 the score store covers all that is pending and has been scored
//               4 no page lies on both sides of a border of the reach, no tail holds text before
//                 its near text, and lanes have moved sinks where it moves them
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/base/transfer.h"
#include "kvcache/lanes/arena.h"
#include "kvcache/lanes/lane.h"
#include "kvcache/lanes/score_store.h"
#include "kvcache/layout/cache_layout.h"
#include "kvcache/layout/text_segments.h"
#include "kvcache/planning/cache_view.h"
#include "kvcache/recurrent/recurrent_states.h"

namespace satchel::kvcache {

// Lists grow by so many flushes at a time. More would be memory beside the arena that most chats
// never use.
inline constexpr std::size_t kFlushesReserved = 8;

// Working lists of a decode step and of a flush, so that a step allocates nothing: they
// can hold what comes until the next reserve_lists().
struct StepScratch {
  std::vector<kernels::StoreArgs> stores = {};           // of a layer
  std::vector<float> queries = {};                       // of a layer
  std::vector<std::byte> notes = {};                     // of a lane's pages, side by side
  std::vector<std::span<const std::byte>> note_of = {};  // [pages] of the lane
  std::vector<float> work = {};                          // Reader::Step::work
  std::vector<std::size_t> chosen = {};                  // of a lane
  std::vector<kernels::LiveMask> read = {};              // [pages] of the lane
  std::vector<std::int32_t> slot_positions = {};         // of the lane's pages …
  std::vector<float> attention = {};                     // … and what a step's query gives them
  std::vector<Reader::Carried> carried = {};             // [n_kv_heads], over the step's layers
  std::vector<kernels::PageView> chosen_views = {};      // of a layer's lanes
  std::vector<std::size_t> chosen_pages = {};            // of a layer's lanes
  std::vector<std::size_t> view_ends = {};               // [n_kv_heads] of the layer
  std::vector<ExtentId> fetched = {};                    // of a layer
  std::vector<float> by_slot = {}, by_position = {};     // scores of a lane
  std::vector<float> page_k = {};  // [kPageTokens, head_dim] of a page just made
  std::vector<std::byte> page_note = {};
  std::vector<PageRecord> flushed = {};         // pages of a flush …
  std::vector<std::size_t> flushed_lanes = {};  // … and the lane of each
  std::vector<kernels::EncodeArgs> encodes = {};
};

// What drafts attend to, and those under way (Cache::begin_draft()).
struct DraftState {
  bool open = false;         // the open step is a draft
  std::size_t n_tokens = 0;  // that it has in the lanes, of steps that are done
  std::size_t n_pages = 0;   // of each lane, to be chosen by the next step; 0: none
  bool choosing = false;     // the open step chooses
  // [n_lanes] of what was chosen: serials, and as attention sees them
  std::vector<std::vector<std::uint64_t>> pages = {};
  std::vector<std::vector<kernels::PageView>> views = {};
};

struct CacheState final : ExtentUser {
  CacheState(std::shared_ptr<Arena> arena_in, const CacheShape& shape_in, const Recipe& recipe_in,
             TierLayouts layouts_in);
  ~CacheState() override;
  CacheState(CacheState&&) = delete;

  const std::shared_ptr<Arena> shared_arena;
  kernels::Backend& backend;
  Arena& arena;
  CacheLayout layout;
  TextSegments text = {};
  Reach reach = {};
  std::deque<Lane> lanes = {};  // [n_lanes], layer-major; a deque never moves them
  std::size_t since_flush = 0;  // tokens that came to the tails since they were flushed
  std::unique_ptr<kernels::LaneTable> table = {};
  ScoreStore scores;
  RecurrentStates states;
  std::uint64_t next_serial = 1;  // of pages
  bool step_open = false, pages_chosen = false;
  ExtentUser* prefill = nullptr;            // the one that is open
  std::size_t step_tokens = 1;              // of the open step
  std::vector<std::uint8_t> appended = {};  // [n_layers], whether it has them
  // Held all the time, so that a compaction can work when the arena is full.
  ExtentId scratch = {}, reserve = {};
  bool has_scratch = false, has_reserve = false;
  FitCounts fits = {};
  StepScratch step = {};
  DraftState draft = {};
  std::size_t flushes_reserved = 0;  // that lists have room for

  CacheView view() const;  // for planning
  std::uint8_t tier_at(std::size_t position, std::uint8_t finest = kTierExact) const {
    return layout.tier_at(text, position, finest);
  }
  TokenSpan token_span(std::size_t first, std::size_t n) const {
    return layout.token_span(first, n, text.n_tokens);
  }
  void extend_text(const PrefillRequest& request, SegmentState state) {
    text.extend(request, state, requirements().probe);
  }
  ScorerRequirements requirements() const { return layout.requirements(); }
  void retake_reserve();
  void forget_scores();
  // The backend failed while exact tokens were on their way: what the lanes hold is not known any
  // more, so they hold nothing. Gives the error back.
  Error lose_all(Error error);
  Result<void> take_fixed();
  Result<PageRecord> take_page(std::uint8_t tier, std::size_t lane, std::size_t n_tokens);
  // Of a page and its note. Once both are there: Arena::settle().
  Result<ExtentId> take_page_extent(std::size_t page_bytes, std::size_t note_bytes);
  const std::byte* note_at(const PageRecord& page);
  // Far pages that the layer's lanes have in reach are in memory, and its views say where, until
  // the arena's next move.
  Result<void> fetch_layer(std::size_t layer);
  // These of the layer's pages: step.fetched.
  Result<void> fetch_chosen(std::size_t layer);
  // Of the arena: what fetch_layer() needs at most. 0: nothing is far.
  std::size_t fetch_bytes() const;
  // The reader's note behind a page just encoded; a far page is then settled.
  Result<void> finish_page(const PageRecord& page, std::size_t head_dim);
  Result<void> read_positions(const PageRecord& page, std::span<std::int32_t> positions);
  // All slots' keys [n_tokens, head_dim], as attention sees them but for the page's shift; in
  // workspace of compactions.
  Result<void> read_keys(const PageRecord& page, std::size_t head_dim, std::vector<float>& keys);
  // The page's range of positions: of what is still seen.
  Result<void> set_range(PageRecord& page);

  // Attention sees this from now on. On failure (CACHE_FULL) nothing has changed, but after the
  // backend's as lose_all() says.
  //   needs   pages and tails as invariant 4 says
  Result<void> set_reach(const Reach& wanted);
  // Its two halves, for lanes that are filled in between: memory for the copies of the sinks that
  // it moves, then the copies.
  std::size_t moved_sinks_needs(const Reach& wanted) const;  // bytes that the first still takes
  Result<void> take_moved_sinks(const Reach& wanted);
  void give_moved_sinks();  // where the reach does not need them
  Result<void> move_sinks(const Reach& wanted);

  Result<void> show_runs(std::size_t lane);
  Result<void> show(std::size_t lane);
  std::span<const kernels::PageView> draft_views(std::size_t lane);
  void extents_moved() override;
  bool give_spare() override { return states.give_spare(); }
  bool table_is_stale = false;
  Result<void> show_all_if_stale();

  // Capacity in lists for what decoding adds with its next kFlushesReserved flushes.
  void reserve_lists();
  void reserve_step(std::size_t more_pages);
  void undo_open_step();
  // The newest n tokens of a lane are none of it any more.
  static void drop_newest(Lane& lane, std::size_t n);
  Result<void> drop_behind_windows();
  void clear();
  // Another extent for sinks and tail of a lane, for another tail_kept; tokens that are there stay.
  Result<void> fit_exact(std::size_t lane, std::size_t tail_kept);
  bool next_is_sink(const Lane& lane) const { return lane.n_sinks() < kSinkTokens; }
};

// Scratch of a compaction: addresses in CacheState::scratch; they move when extents do.
struct CompactionScratch {
  // [kPageTokens, head_dim] decoded; v: null of a latent lane.
  float *k = nullptr, *v = nullptr;
  ExactBlock source;                          // [kPageTokens]
  std::int32_t* indices = nullptr;            // [kPageTokens]
  std::array<ExactBlock, kTiersMax> buckets;  // [n_buckets()]
};
CompactionScratch compaction_scratch(CacheState& cache, const TokenShape& token);

}  // namespace satchel::kvcache
