// Cache: all lanes of one conversation, in extents of the engine's arena. A lane is sinks (the first
// tokens, exact) + body (packed pages, each at one tier) + tail (the newest tokens, exact).
//
//   text     what is read has a kind (SpanKind). A document may be compressed when it has been read,
//            a message and its answer when the turn has ended; `kept` text never.
//   step     begin_step -> for each layer { append -> [choose_pages] -> attend over lanes(layer) ->
//            [observe_step] } -> end_step
//   reading  begin_reading -> for each layer { begin_layer -> for each chunk { add_chunk -> attend
//            over lanes() -> [observe] } -> end_layer } -> commit. One layer's exact K and V of the
//            span exist at a time. A text longer than reading_fits() goes in several spans.
//   probe    the same with begin_probe: the tokens are seen by queries and then dropped; what was
//            observed of the text stays as scores
//   compact  what waits at a provisional tier gets its own: scores -> budgets -> tiers -> rewrite
//   invariants  1 the arena's limit holds; no call of a decode step allocates
//               2 begin_step and begin_reading fail before anything changes (out_of_memory,
//                 CACHE_FULL), or the rest cannot run out of memory
//               3 a reading that is not committed leaves no trace, nor does a step that is not ended
//               4 positions rise inside a page; K is stored after RoPE at the token's own position,
//                 so evicting moves no position
//               5 a token's tier only falls; a page is made anew only by a compaction
//               6 tails: [n_tokens - n_tail, n_tokens), and all flush in the same step
//               7 after an error of the backend every lane is whole: what it held it holds, or part
//                 of what the call was to do is done. Where exact tokens were on their way (a flush,
//                 a commit) nobody knows: then the cache is empty.
//   threads  one call at a time over all caches of an arena
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/cache_shape.h"
#include "kvcache/lanes/arena.h"
#include "kvcache/recipes/recipe.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

inline constexpr std::size_t kSinkTokens = 4;
inline constexpr std::size_t kTailTokens =
    128;  // exact at least this long, unless a recipe says less
inline constexpr std::size_t kFlushTokens = kernels::kPageTokens;  // tails grow by this, then flush

// What a second pass takes at a time: a piece of the text, and what is said around it. Measured as
// good as the 2,048 of arXiv:2505.23416 for half the cost, and short enough to be interrupted.
inline constexpr std::size_t kProbeTokens = 512, kProbeScript = 64;

// What an engine lends to its caches.
struct CacheHome {
  std::shared_ptr<kernels::Backend> backend;
  std::shared_ptr<Arena> arena;
};

enum class SpanKind : std::uint8_t {
  kept,      // the system prompt, what is pinned: never compressed
  document,  // compressed when it has been read
  message,   // of the user: compressed when its turn has ended
  answer,    // likewise; decode steps make it
};
enum class SpanState : std::uint8_t {
  open,     // of the turn that is being answered
  pending,  // waits at a provisional tier for a decision
  done,
};
// A stretch of the text that is treated as one.
struct TextSpan {
  std::size_t first = 0, n_tokens = 0;
  SpanKind kind = SpanKind::document;
  SpanState state = SpanState::open;
  std::size_t n_probed = 0;  // of its tokens, while pending
  std::size_t end() const { return first + n_tokens; }
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

// What a cache of `n_tokens`, read as one document, takes from the arena. The one place this is
// computed: the estimator, the programs and begin_reading all ask here (cache_need_test.cpp holds it
// against what is then allocated). Neither what is held at rest, which are the first two figures, nor
// the total falls as n_tokens grows.
struct CacheNeed {
  std::size_t fixed_bytes = 0;  // sinks and tails of all lanes, scratch of compaction
  std::size_t page_bytes = 0;   // body, and scores where decoding goes on scoring
  // What is given back: scratch of reading n_tokens in one span, and what waits for a decision.
  std::size_t reading_bytes = 0;
  std::size_t total() const { return fixed_bytes + page_bytes + reading_bytes; }
};
Result<CacheNeed> cache_need(const CacheShape& shape, const Recipe& recipe, std::size_t n_tokens);

struct LayerStats {
  std::size_t n_kept_min = 0, n_kept_max = 0;  // tokens per lane: sinks, body and tail
  std::size_t n_pages = 0;                     // of all lanes
  double k_bits = 16, v_bits = 16;             // per value in the body, metadata counted
};
struct TierStats {
  std::string name;  // "exact", "8 bits", then as the recipe's codecs call themselves
  std::size_t n_tokens = 0, bytes = 0;  // lane-tokens in pages
};
struct CacheStats {
  std::size_t n_tokens = 0;    // seen by every lane, evicted ones included
  std::size_t fp16_bytes = 0;  // what all of them would take in fp16
  // allocated: sinks and tails at full capacity, pages, scores, scratch of compaction
  std::size_t bytes = 0;
  std::size_t body_fp16_bytes =
      0;  // fp16 of all tokens that are neither sink nor tail, evicted ones included
  std::size_t body_bytes = 0;                       // pages as allocated
  std::size_t n_kept = 0, n_evicted = 0;            // tokens, summed over lanes
  std::size_t n_pending = 0, n_pending_probed = 0;  // tokens of the text that wait for a decision
  std::size_t pool_bytes = 0, pool_used_bytes = 0, pool_peak_bytes = 0;  // of the arena
  std::vector<LayerStats> layers;
  std::vector<TierStats> tiers;
};

struct CompactionReport {
  std::size_t n_spans = 0;    // of text that were decided
  std::size_t n_evicted = 0;  // lane-tokens that went
  std::size_t n_lowered = 0;  // lane-tokens that went to a coarser tier
};

struct ReadRequest {
  std::size_t n_tokens = 0;
  SpanKind kind = SpanKind::document;
  bool goes_on = false;  // of the text that the span before it begins: decided together with it, if
                         // that still waits and no second pass has begun on it
  std::uint8_t finest = kTierExact;  // what must wait is held no finer
};
// A stretch of pending text that a second pass shall look at.
struct ProbeJob {
  std::size_t first = 0, n_tokens = 0;
};

class Cache;

// Tokens on their way into the lanes, or past them (probe). Dropped without commit(), it leaves the
// cache as it was.
class PromptReading {
 public:
  ~PromptReading();
  PromptReading(PromptReading&&) noexcept;

  Result<void> begin_layer(std::size_t layer);
  // k, v [n, n_kv_heads, head_dim] fp32 after RoPE: the next n tokens, in order.
  Result<void> add_chunk(const float* k, const float* v, std::size_t n_tokens);
  // What the chunk last added attends to: history and this layer's tokens so far; first_token and
  // n_tokens are the caller's to set. Valid until the next call.
  kernels::Sequence lanes() const;
  // Which observations are wanted; none: observe() need not be called.
  ScorerWants wants() const;
  // Of the chunk last added; lse over all that its lanes() show (a second pass makes its own);
  // pre_rope_q and hidden only where wanted.
  struct Seen {
    const float *q = nullptr, *lse = nullptr;
    const float *pre_rope_q = nullptr, *pre_rope_k = nullptr, *hidden = nullptr;
  };
  Result<void> observe(const Seen& seen);
  Result<void> end_layer();
  // needs   end_layer() of the last layer. Cannot run out of memory.
  Result<CompactionReport> commit();

  struct State;  // for this layer

 private:
  friend class Cache;
  friend struct CacheState;
  explicit PromptReading(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Cache {
 public:
  // Takes sinks, tails and scratch of all lanes. Fails with out_of_memory (MEMORY) naming the least
  // that would do.
  static Result<std::unique_ptr<Cache>> open(const CacheHome& home, const CacheShape& shape,
                                             const Recipe& recipe);
  ~Cache();
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
  std::span<const TextSpan> spans() const;
  CacheStats stats() const;
  void clear();  // back to empty
  // Forgets everything from position n_tokens on.
  Result<void> truncate(std::size_t n_tokens);
  // Whether what is left would be what reading as many tokens leaves: text that has passed out of a
  // layer's window is gone, so there a text cut far back has to be read again from its beginning.
  bool can_truncate(std::size_t n_tokens) const;
  // Forgets positions first … first + n - 1, but for sinks; the others keep their positions.
  Result<void> forget(std::size_t first, std::size_t n);
  // From now on never compressed (what has been lost before stays lost).
  Result<void> pin(std::size_t first, std::size_t n);
  // Text from position `first` on stands `by` positions later (or earlier) from now on: nothing is
  // encoded again. The positions it leaves and enters must be free.
  Result<void> move_text(std::size_t first, std::int32_t by);

  Result<void> begin_step();
  // Bytes of the arena that must be free for the next step.
  std::size_t step_needs() const;
  // k, v [n_kv_heads, head_dim] fp32 after RoPE of the token at position n_tokens().
  Result<void> append(std::size_t layer, const float* k, const float* v);
  // Where the recipe reads only some pages: which ones, for q [n_heads, head_dim]. Else nothing.
  Result<void> choose_pages(std::size_t layer, const float* q);
  // first_token 0, n_tokens 1.
  kernels::Sequence lanes(std::size_t layer) const;
  bool wants_step() const;  // whether observe_step() is wanted in this step
  Result<void> observe_step(std::size_t layer, const float* q, const float* lse,
                            const kernels::Batch& batch);
  Result<void> end_step();

  // Whether the recipe's scorer wants q and k before RoPE of what is read (a pass takes memory to keep
  // them).
  bool wants_pre_rope() const;
  // What of the request can be read now, and packed later, if others take `other_bytes` of scratch
  // for a span of a given length: all of it at the finest tier at which it fits, else the longest
  // span that fits at the recipe's tier, held finer if that still fits. n_tokens 0: not even the
  // least.
  using OtherBytes = std::size_t (*)(const void* context, std::size_t n_tokens);
  ReadRequest reading_fits(const ReadRequest& request, OtherBytes other_bytes,
                           const void* context) const;
  // Bytes of the arena that must be free so that all of the request fits, what waits no finer
  // than it asks.
  std::size_t reading_needs(const ReadRequest& request, OtherBytes other_bytes,
                            const void* context) const;
  // The request's tokens at positions n_tokens() …, held as finely as fits, and as it asks. Fails
  // with CACHE_FULL, CACHE_POSITION or PROMPT_EMPTY, and has then changed nothing.
  Result<PromptReading> begin_reading(const ReadRequest& request);
  // The messages and answers read since the last call may be compressed from now on.
  Result<CompactionReport> end_turn();

  bool wants_second_pass() const;
  // What a second pass should look at next, chunk_tokens at most; nothing: none is wanted.
  std::optional<ProbeJob> next_probe(std::size_t chunk_tokens) const;
  // n_tokens tokens at positions first_position … see the lanes and each other.
  Result<PromptReading> begin_probe(const ProbeJob& job, std::size_t n_tokens,
                                    std::size_t first_position);
  // Decides what is pending and needs no second pass any more. over_limit: also the part of a text
  // that a second pass has seen; what it has not seen goes to the recipe's first tier and waits
  // there, as nobody knows what of it matters; what is kept or open goes to 8 bits.
  Result<CompactionReport> compact(Occasion occasion);

  // Until so many bytes of the arena are free, or the recipe allows no more: its steps for when
  // memory is short, each from the oldest text on. What is kept, open or waits stays as it is.
  Result<CompactionReport> make_room(std::size_t free_bytes);
  // The same until the cache itself takes no more than so many bytes (CacheStats::bytes).
  Result<CompactionReport> shrink_to(std::size_t bytes);
  // What the cache would take (CacheStats::bytes) if all of those steps were taken: not less than it
  // then does, but for what thinning leaves in pages that stay as they are.
  std::size_t floor_bytes() const;
  // What has been decided comes down to what the recipe would have left of it; nothing comes back.
  Result<CompactionReport> follow_recipe();

  // What share of its tokens each lane would keep of the first text that waits with all its scores,
  // at each share of the whole: [keeps][lanes without a window]. Changes nothing. CACHE_SCORES where
  // no text waits.
  Result<std::vector<std::vector<double>>> waiting_shares(std::span<const double> keeps);
  // What the recipe's scorer has observed of that text's tokens in one of all lanes, before it is
  // finished or filtered: to look at, [n_tokens of the text]. Likewise CACHE_SCORES.
  Result<std::vector<float>> waiting_scores(std::size_t lane) const;
  // The keys of that text's tokens in one of all lanes, before RoPE, as they are held: [n_tokens of
  // the text, head_dim]. Likewise CACHE_SCORES, also where the lane does not hold all of them. Not
  // while a reading is open; undoes an open step.
  Result<std::vector<float>> waiting_keys(std::size_t lane);
  // Whether the recipe wants a lane table and the shape has none; one that was made since. What has
  // been decided stays.
  bool wants_lane_shares() const;
  void set_lane_shares(std::shared_ptr<const LaneShares> shares);

  struct State;  // for this layer

 private:
  friend class PromptReading;
  friend class Snapshot;
  explicit Cache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::kvcache
