// CacheState: what a Cache is made of, for the files of this layer that work on it (steps, reading,
// compaction, edits, snapshot).
//   states      idle -> begin_step -> step_open -> end_step -> idle
//               idle -> begin_reading / begin_probe -> reading -> commit or dropped -> idle
//   invariants  1 the table shows each lane as it now is
//               2 n_tail <= tail_kept + since_flush in every lane; since_flush < kFlushTokens while
//                 idle, but after a failed flush, which the next call tries again
//               3 spans lie side by side and cover [0, n_tokens)
//               4 the score store covers all that is pending and has been scored
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "kvcache/cache.h"
#include "kvcache/lanes/lane.h"
#include "kvcache/lanes/score_store.h"
#include "kvcache/lanes/tier_layouts.h"
#include "kvcache/stages/pipeline.h"

namespace satchel::kvcache {

// A flush cuts a tail where the tier changes: at most where kept text, an old turn and the open one
// meet.
inline constexpr std::size_t kFlushSegmentsMax = 4;

struct ReadingPlan;

// What is known of a cache without its memory: also of one that is only planned (cache_need()), whose
// lanes are empty then.
struct CacheBook {
  CacheBook(const CacheShape& shape_in, const Recipe& recipe_in, TierLayouts layouts_in);

  CacheShape shape;
  Recipe recipe;
  const Pipeline& pipeline;
  TierLayouts layouts;
  bool recipe_is_exact;  // its first codec keeps fp16: then nothing needs to wait for it
  std::vector<std::size_t> layer_of = {};    // [n_lanes]
  std::vector<std::size_t> first_lane = {};  // [n_layers + 1]
  std::deque<Lane> lanes = {};               // [n_lanes], layer-major; a deque never moves them
  // In their place where a cache is only planned: what their tails would hold. Empty: nothing yet.
  struct PlannedLane {
    std::size_t n_tail = 0, tail_kept = 0;
  };
  std::vector<PlannedLane> planned = {};
  std::vector<TextSpan> spans = {};
  std::size_t n_tokens = 0;
  std::size_t since_flush = 0;  // tokens that came to the tails since they were flushed

  const LayerShape& layer(std::size_t lane) const { return shape.layers[layer_of[lane]]; }
  std::size_t n_tail(std::size_t lane) const;
  std::size_t tail_kept(std::size_t lane) const;
  ScorerWants wants() const { return pipeline.wants(shape.lane_shares.get()); }
  bool takes_part(std::size_t layer) const { return shape.layers[layer].window == 0; }
  std::size_t note_bytes(std::size_t head_dim) const {
    return pipeline.reader().note_bytes(head_dim);
  }
  // Of a page with its note, as the arena counts.
  std::size_t page_bytes(std::uint8_t tier, std::size_t head_dim, std::size_t n_tokens) const;
  // Of as many pages as n_tokens of a lane take.
  std::size_t body_bytes(std::uint8_t tier, std::size_t head_dim, std::size_t n_tokens) const;
  // Of the pages of lane `lane` for the oldest n_head tokens of its tail and n_new of `tier` behind
  // them, cut where the tier changes.
  // `finest` bounds the tiers of what waits.
  std::size_t line_bytes(std::size_t lane, std::size_t n_head, std::size_t n_new, std::uint8_t tier,
                         std::uint8_t finest) const;
  // The tier of text that waits, no finer than `finest`.
  std::uint8_t held_tier(std::uint8_t finest) const;
  // The same of text that must not be compressed: kept, or of the open turn. At least 8 bits.
  std::uint8_t kept_tier(std::uint8_t finest) const;
  // The tier at which a token that leaves the tail is held; finer than `finest` nothing waits.
  std::uint8_t tier_at(std::size_t position, std::uint8_t finest = kTierExact) const;
  bool is_protected(std::size_t position) const;
  // Whether it waits together with the span before it, so that all of a text shares one budget.
  bool joins_what_waits(const ReadRequest& read) const;
  // What is known of the worth of the lane's keys; empty: nothing. Of a lane that takes part.
  std::span<const float> worth_of(std::size_t lane) const;
  std::size_t n_deciding_before(std::size_t lane) const;  // lanes that take part
  // What a selector was taught of the layer; null: there is none.
  const SelectorWeights::Layer* selector_of(std::size_t layer) const {
    return shape.selector == nullptr ? nullptr : &shape.selector->layers[layer];
  }
  const TextSpan* span_at(std::size_t position) const;
  TokenSpan token_span(std::size_t first, std::size_t n_tokens) const;
  // Adds tokens at the end of the text.
  void extend_text(const ReadRequest& read, SpanState state);
  // Whether a document's fate is decided layer by layer, on exact K and V, while it is read.
  bool decides_in_layer() const;
  std::vector<TierStats> tier_names() const;
  // Where a compaction gathers what goes to a tier: tiers that only short memory asks for share one.
  std::size_t stage_of(std::uint8_t tier) const;
  std::size_t n_stages() const { return stage_of(kGone) + 1; }
};

// Working lists of a decode step. Room for what comes until the next reserve_lists().
struct StepScratch {
  std::vector<float> queries = {};                       // of a layer
  std::vector<std::byte> notes = {};                     // of a lane's pages, side by side
  std::vector<std::span<const std::byte>> note_of = {};  // [pages] of the lane
  std::vector<float> work = {};                          // [2, pages]
  std::vector<std::size_t> chosen = {};                  // of a lane
  std::vector<kernels::PageView> chosen_views = {};      // of a layer's lanes
  std::vector<std::size_t> view_ends = {};               // [n_kv_heads] of the layer
  std::vector<float> by_slot = {}, by_position = {};     // scores of a lane
  std::vector<float> page_k = {};  // [kPageTokens, head_dim] of a page just made
  std::vector<std::byte> page_note = {};
};

struct CacheState : CacheBook, ExtentUser {
  CacheState(const CacheHome& home_in, const CacheShape& shape_in, const Recipe& recipe_in,
             TierLayouts layouts_in);
  ~CacheState() override;
  CacheState(CacheState&&) = delete;

  CacheHome home;
  kernels::Backend& backend;
  Arena& arena;
  std::unique_ptr<kernels::LaneTable> table = {};
  ScoreStore scores;
  std::uint64_t next_serial = 1;  // of pages
  bool step_open = false, pages_chosen = false;
  PromptReading::State* reading = nullptr;
  std::vector<std::uint8_t> appended = {};  // [n_layers], of the open step
  // Held all the time, so that a compaction can work when the arena is full.
  ExtentId scratch = {}, reserve = {};
  bool has_scratch = false, has_reserve = false;
  // Working lists of a flush, so that a step allocates nothing.
  std::vector<PageRecord> flushed = {};
  std::vector<std::size_t> flushed_lane = {};
  std::vector<kernels::EncodeArgs> encodes = {};
  std::vector<kernels::StoreArgs> stores = {};
  StepScratch step = {};

  Result<void> make_idle();
  Result<void> flush_tails_before(std::size_t end);
  void move_spans(std::size_t first, std::int32_t by);
  void retake_reserve();
  void forget_scores();
  // The backend failed while exact tokens were on their way: what the lanes hold is not known any
  // more, so they hold nothing. Gives the error back.
  Error lose_all(Error error);
  Result<void> take_fixed();
  Result<PageRecord> take_page(std::uint8_t tier, std::size_t lane, std::size_t n_tokens);
  // The reader's note behind a page just encoded.
  Result<void> write_note(const PageRecord& page, std::size_t head_dim);
  Result<void> read_positions(const PageRecord& page, std::span<std::int32_t> positions);
  // The page's range of positions: of what is still seen.
  Result<void> set_range(PageRecord& page);

  Result<void> show_runs(std::size_t lane);
  Result<void> show(std::size_t lane);
  void extents_moved() override;
  bool table_is_stale = false;
  Result<void> show_all_if_stale();

  // Room in lists for what decoding may add until the arena is full.
  void reserve_lists();
  void reserve_step(std::size_t more_pages);
  void undo_open_step();
  Result<void> flush_if_due();
  Result<void> flush();
  Result<void> encode_flushed();
  Result<void> move_flushed();
  // A cache just opened over the same arena then holds the same (Cache::fork()).
  Result<void> copy_into(CacheState& twin);
  Result<void> copy_lane_into(CacheState& twin, std::size_t index);
  Result<void> copy_scores_into(CacheState& twin);
  // Over everything read so far, by the scores in the store (Occasion::steps).
  Result<void> decide_all_text();
  Result<void> choose_lane(std::size_t layer, std::size_t head, std::span<const float> q);
  Result<void> observe_lane(const Observation& seen, std::size_t lane, std::size_t head,
                            bool replaces);
  Result<void> drop_behind_windows();
  void clear();
  // Another extent for sinks and tail of a lane, for another tail_kept; tokens that are there stay.
  Result<void> fit_exact(std::size_t lane, std::size_t tail_kept);
  bool next_is_sink(const Lane& lane) const { return lane.n_sinks() < kSinkTokens; }

  Result<PromptReading> open_reading(ReadingPlan plan, const ProbeJob& scored);
  Result<PromptReading> make_reading(ReadingPlan plan,
                                     const std::vector<std::size_t>& chunks_before);
};

// Scratch of a compaction: addresses in CacheState::scratch; they move when extents do.
struct CompactionScratch {
  float *k = nullptr, *v = nullptr;          // [kPageTokens, head_dim] decoded
  ExactBlock source;                         // [kPageTokens]
  std::int32_t* indices = nullptr;           // [kPageTokens]
  std::array<ExactBlock, kTiersMax> staged;  // [n_stages()]
  static std::size_t bytes(const CacheShape& shape, std::size_t n_stages);
};
CompactionScratch compaction_scratch(CacheState& cache, std::size_t head_dim);

// Bytes that every cache of this shape takes at once: sinks and tails, scratch, reserve.
std::size_t fixed_bytes(const CacheShape& shape, const TierLayouts& layouts,
                        const Pipeline& pipeline);

// Of the page that a compaction may take where nothing is free.
std::size_t reserve_bytes(const CacheShape& shape, const TierLayouts& layouts,
                          const Pipeline& pipeline);

struct Cache::State final : CacheState {
  using CacheState::CacheState;
};

}  // namespace satchel::kvcache
