// The interfaces of the eight stages that make up a recipe. A stage is one file in its folder that
// defines one StageMaker named <folder>_<file>. The build finds the files by itself
// (packaging/cmake/stage_table.cmake).
//
//   trigger   when to decide                     Trigger::fires
//   scorer    how important is each token?       Scorer::observe per layer and chunk, then finish
//   filter    what is protected or smoothed?     Filter::protects, apply
//   allocator how many tokens per lane?          Allocator::totals before prefill, lanes after
//                                                scoring
//   assigner  which tier for which token?        Assigner::assign
//   merger    what do dropped tokens leave?      Merger::merge, on exact K and V
//   codec     how are a tier's pages encoded?    Codec::operand
//   reader    page selector: which pages does    Reader::note when a page is made, choose at a step
//             a decode step attend to?
//
//   memory   float* and Half* are addresses in the backend's memory; spans are in main memory
//   threads  stages are const and stateless: one stage serves all caches of its recipe
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/base/transfer.h"
#include "kvcache/shape/cache_shape.h"
#include "kvcache/shape/tier.h"
#include "kvcache/stages/params.h"

namespace satchel::kvcache {

enum class StageKind { trigger, scorer, filter, allocator, assigner, merger, codec, reader };
std::string_view to_text(StageKind kind);

class Stage {
 public:
  virtual ~Stage() = default;
  // A stage with parameters hides this by its own read(), which reads and checks them.
  Result<void> read(Params&) { return {}; }
};

// What a stage's file says of it; its kind and name are those of folder and file.
struct StageMaker {
  std::string_view source;  // paper, or "ours"
  Result<std::unique_ptr<Stage>> (*make)(Params& params);
};

template <class T>
Result<std::unique_ptr<Stage>> make_stage(Params& params) {
  auto stage = std::make_unique<T>();
  SATCHEL_TRY(stage->read(params));
  return std::unique_ptr<Stage>(std::move(stage));
}
template <class T>
constexpr StageMaker stage_of(std::string_view source) {
  return {.source = source, .make = make_stage<T>};
}

// The tokens of one decision: a document or message after its prefill or, while decoding,
// everything so far.
struct TokenSpan {
  std::size_t n_layers = 0;  // that take part; layers with a window do not, they are bounded
  std::size_t n_lanes = 0;   // of those layers
  std::size_t n_tokens = 0;
  std::size_t first_position = 0;
  std::size_t n_after = 0;  // tokens of the text after the span
  double keep = 1;          // share of n_tokens to keep, averaged over lanes
  // The model's head budgets [n_lanes]; null: not measured yet.
  const HeadBudgets* head_budgets = nullptr;
  std::size_t first_lane = 0;  // Allocator::lanes: the first of the lanes passed to it

  bool contains(std::size_t position) const {
    return position >= first_position && position < first_position + n_tokens;
  }
  // Of a lane among n_lanes: layers are taken to have equally many.
  std::size_t layer_of(std::size_t lane) const {
    return std::min(lane / (n_lanes / n_layers), n_layers - 1);
  }
};

// --- trigger -------------------------------------------------------------------------------------

enum class TriggerEvent {
  span_read,   // the prefill of a document, or of one span of it, has ended
  turn_ended,  // a message and its answer may be compressed now
  steps,       // kPageTokens decode steps have passed, and the tails are flushed
  over_limit,  // memory is short
  idle,        // no request is running
  asked,       // the user requested it
};
class Trigger : public Stage {
 public:
  virtual bool ever_fires() const { return true; }
  // n_tokens: that a decision would cover
  virtual bool fires(TriggerEvent event, std::size_t n_tokens) const = 0;
};

// --- scorer --------------------------------------------------------------------------------------

enum class Purpose { prefill, decoding, probe };

// The queries of one chunk of tokens in one layer.
struct Observation {
  Purpose purpose = Purpose::prefill;
  const LayerShape& layer;
  kernels::Batch batch;
  std::span<const std::int32_t> positions;  // of the batch, in main memory
  const float* q = nullptr;                 // [n_tokens, n_heads, head_dim], after RoPE
  const float* lse = nullptr;               // [n_tokens, n_heads], over everything the lane holds;
                                            // in a probe: over sinks, the probed tokens and the
                                            // probe's own tokens
  const float* pre_rope_q = nullptr;        // as q; set only if requested
  const float* pre_rope_k = nullptr;        // [n_tokens, n_kv_heads, head_dim]; only if requested
  const float* hidden = nullptr;            // [n_tokens, width] before the layer; only if requested
  // Prefill only: exact K and V of the chunk, [n_kv_heads] of the layer, scored or not.
  std::span<const kernels::ExactRun> chunk = {};
  std::size_t span_first = 0, span_end = 0;  // positions of the whole span in prefill or probe
  double keep = 1;                           // share of the span to keep, averaged over lanes
  float* state = nullptr;                    // prefill only: [Scorer::state_floats()], writable
  // Blocks only: writable copies of q and lse, and a workspace of kBlockWork floats.
  float *block_q = nullptr, *block_lse = nullptr, *work = nullptr;
  LayerSelectors selectors = {};  // what was trained for this layer
};
inline constexpr std::size_t kBlockWork = 1024;
// The tokens of one lane to score: one score per slot, in the order of kernels::ScoreArgs.
struct ObservedLane {
  kernels::LaneView keys = {};
  // Blocks only: the sinks, unless they are among the keys; at most two runs.
  std::span<const kernels::ExactRun> sinks = {};
  // Prefill only: the lane's other tokens, all visible to the chunk's queries.
  kernels::LaneView held = {};
  std::size_t first_head = 0, n_group = 1;
  float* scores = nullptr;  // zero before the first observation of the layer
  // Learned weights of the importance of its keys (KeyImportance); empty: none.
  std::span<const float> importance = {};
  // Share of the span that the lane will keep; nothing: unknown until everything is scored.
  std::optional<double> keep = std::nullopt;
};
// A lane's scores after the last observation, one for each token of the span.
struct ScoredLane {
  std::span<float> scores;
  const Half* k = nullptr;  // [n_tokens, head_dim]; null if the exact keys are not available
  const Half* v = nullptr;
};

// What a scorer requires. Several may be set.
struct ScorerRequirements {
  bool prefill = false;      // queries of prefill; keys: the span's own tokens
  bool decoding = false;     // queries of decode steps; keys: everything that the lane holds
  bool newest_step = false;  // … of only the last step before a decision; replaces older scores
  bool probe = false;        // a second pass over the text (KVzip); keys: the probed tokens
  // Prefill only: observe() is called for blocks of this many tokens, once all keys of a block
  // exist, with block_q. The blocks of a span are as equal as possible. 0: for each chunk.
  // pre_rope works with both. Takes memory for this many queries.
  std::size_t block_tokens = 0;
  // finish() reads k and v. Such a recipe decides inside the layer; tokens that it could not decide
  // there go to a lower tier and are not chosen from.
  bool exact_kv = false;
  bool pre_rope = false, hidden = false;
};
// Tokens of one lane whose prefill was long ago, as decoded from the cache.
struct HeldKeys {
  std::span<const float> k;  // [n_tokens, head_dim] before RoPE, main memory
  std::size_t head_dim = 0;
  std::span<const float> importance;  // as ObservedLane's
};
class Scorer : public Stage {
 public:
  // known: the model's head budgets, or null. Only `block_tokens` and `pre_rope` may depend on
  // them.
  virtual ScorerRequirements requirements(const HeadBudgets* known) const = 0;
  // Whether caches of this model can use the scorer. The error, not_found, says what this model
  // lacks and what to use instead.
  virtual Result<void> check(const CacheShape&) const { return {}; }
  // Size of the state that observe() carries between the chunks of a layer's prefill, in floats,
  // for a span of n_tokens. It is zeroed before the first chunk, exists for one layer at a time,
  // and must not shrink as n_tokens grows.
  virtual std::size_t state_floats(const LayerShape&, [[maybe_unused]] std::size_t n_tokens) const {
    return 0;
  }
  // Called after each chunk of a required kind, for all lanes of the layer. Adds to the scores or
  // raises them.
  virtual Result<void> observe(kernels::Backend& backend, const Observation& seen,
                               std::span<const ObservedLane> lanes) const = 0;
  // Whether text can be scored again without its queries. If so, a recipe may evict more of it
  // under memory pressure.
  virtual bool scores_held() const { return false; }
  // Scores tokens by their keys alone, independent of observe(). False: unknown for this lane.
  //   out  scores [n_tokens], zeroed by the caller
  virtual bool score_held(const HeldKeys&, std::span<float>) const { return false; }
  // Called once per layer and decision; leaves finite scores. Larger scores are retained.
  virtual Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan&,
                              std::span<const ScoredLane>) const {
    return {};
  }
};

// Runs the score kernel for every lane of an observation, which supplies all parameters that `args`
// leaves out.
Result<void> score_lanes(kernels::Backend& backend, const Observation& seen,
                         std::span<const ObservedLane> lanes, const kernels::ScoreArgs& args);
// An observation restricted to n_rows of its tokens, or to its last ones.
Observation rows_of(const Observation& seen, std::size_t first, std::size_t n_rows);
Observation last_rows(const Observation& seen, std::size_t n_rows);
// Blocks only; changes block_q. Raises scores to the attention that the queries would pay if the
// block were repeated (scorers/echo.cpp has the formula).
Result<void> echo_lanes(kernels::Backend& backend, const Observation& seen,
                        std::span<const ObservedLane> lanes, kernels::AttentionMask mask);
// Prefill only: scores the chunk's keys by themselves, with the weights in
// ObservedLane::importance.
//   needs   pre_rope_k
Result<void> key_importance_lanes(kernels::Backend& backend, const Observation& seen,
                                  std::span<const ObservedLane> lanes);
// Blocks only: adds every lane's keys to block_lse, and its sinks if all keys are visible.
Result<void> logsumexp_lanes(kernels::Backend& backend, const Observation& seen,
                             std::span<const ObservedLane> lanes, kernels::AttentionMask mask);

// --- filter --------------------------------------------------------------------------------------

inline constexpr float kNeverEvict = std::numeric_limits<float>::infinity();
inline constexpr float kNotThere = -std::numeric_limits<float>::infinity();

class Filter : public Stage {
 public:
  struct Protected {
    std::size_t first = 0, last = 0;  // tokens at the ends of the span; may overlap
  };
  virtual Protected protects(const TokenSpan&) const { return {}; }
  // What a token's score is multiplied by as soon as a prefill has made it, where n_said >= 1
  // tokens of the span have its id; asked only of filters that weigh.
  virtual bool weighs() const { return false; }
  virtual float weight([[maybe_unused]] std::size_t n_said) const { return 1; }
  // Filters one lane. kNeverEvict and kNotThere entries do not change. Others stay finite, or
  // become kNotThere: evicted even where the budget has room for them.
  virtual void apply(const TokenSpan& span, std::span<float> scores) const = 0;
};

// --- allocator -----------------------------------------------------------------------------------

// The scores of a lane. kNeverEvict entries are always retained; kNotThere entries were evicted
// before.
using LaneScores = std::span<const float>;

// Decides how many tokens of the span each lane keeps, protected ones included.
class Allocator : public Stage {
 public:
  // layer: the lanes of a layer share its total from totals(). cache: all lanes share the sum.
  enum class Scope { layer, cache };
  virtual Scope scope() const { return Scope::layer; }
  // Needs no scores, so that the memory of a prompt is known before its prefill.
  //   out  totals [n_layers], over all lanes of a layer; their sum is keep_total(span), or the
  //        protected tokens of all lanes if that is more
  virtual void totals(const TokenSpan& span, std::size_t n_protected,
                      std::span<std::size_t> totals) const;
  virtual bool needs_head_budgets() const { return false; }
  // Computes the budgets of all lanes without scores, if the allocator can. Lanes without a choice
  // are then not scored, and lanes that keep little have a short tail. The decision is made layer
  // by layer, whatever the scope. False: scores decide, and `budgets` is unchanged.
  //   out  budgets [span.n_lanes], each at least n_protected; their sum is keep_total(span) as far
  //        as that allows
  virtual bool known(const TokenSpan&, std::size_t, std::span<std::size_t>) const { return false; }
  // The default gives all lanes the same.
  //   out  budgets [lanes.size()], each at least its lane's protected tokens; their sum is `total`,
  //        as far as the lanes hold that many
  virtual void lanes(const TokenSpan& span, std::span<const LaneScores> lanes, std::size_t total,
                     std::span<std::size_t> budgets) const;
};

// --- assigner ------------------------------------------------------------------------------------

// Assigns a tier to each token of a lane.
//   out     tiers [n]: an index into the recipe's codecs, finest first, or kGone; exactly `budget`
//           tokens are not kGone
struct AssignedLane {
  std::span<const float> scores;
  std::size_t budget = 0;
  std::span<std::uint8_t> tiers;
};
class Assigner : public Stage {
 public:
  virtual void assign(std::span<const float> scores, std::size_t budget,
                      std::span<std::uint8_t> tiers) const = 0;
  // Assigns all lanes of a layer, over the same tokens. The default assigns each lane by itself.
  virtual void assign_layer(std::span<const AssignedLane> lanes) const {
    for (const AssignedLane& lane : lanes) assign(lane.scores, lane.budget, lane.tiers);
  }
};

// --- merger --------------------------------------------------------------------------------------

// Queries that the span's own reading asked of the lane, for a merger that wants some: drawn evenly
// from all its heads and tokens, the same for every chunking.
struct ReferenceQueries {
  float* q = nullptr;  // [n, head_dim], after RoPE at `positions`; may be changed
  std::span<const std::int32_t> positions = {};  // [n], rising
  const float* lse = nullptr;                    // [n], of the reading
  float* work = nullptr;                         // [Merger::work_floats()]
  std::size_t n() const { return positions.size(); }
};

struct FitCounts {
  std::size_t n_made = 0;
  std::size_t n_dropped = 0;  // they did not help: the lane is as it was
};

// Merges dropped tokens into retained ones: may change k and v of the retained tokens.
struct MergeLane {
  Half* k = nullptr;  // [n_tokens, head_dim], after RoPE
  Half* v = nullptr;
  const std::int32_t* positions = nullptr;  // [n_tokens]
  std::size_t n_tokens = 0, head_dim = 0;
  std::size_t first_position = 0;       // of the first token; the others follow consecutively
  const LayerShape* layer = nullptr;    // with the RoPE of its keys
  std::span<const std::uint8_t> tiers;  // as assigned
  std::span<const float> scores;        // kNeverEvict: may carry others, is never dropped
  std::span<const float> unfiltered;    // the scorer's own scores, also of protected tokens
  std::span<float> counts;  // number of tokens that each stands for, initially 1; saved with the
                            // page if needs_counts()
  std::size_t n_sinks = 0, n_tail = 0;  // of the tokens: they stay exact and always count once
  ReferenceQueries references = {};
  LayerSelectors selectors = {};  // what was trained for its layer
  FitCounts* fits = nullptr;      // of a merger that fits_counts(): one more, of either kind
};
class Merger : public Stage {
 public:
  virtual bool merges() const { return true; }
  virtual Result<void> check(const CacheShape&) const { return {}; }  // as Scorer's
  virtual bool needs_counts() const { return false; }
  // Whether the counts are weights fitted to all that the lane kept of the span: an eviction later
  // sets them to 1.
  virtual bool fits_counts() const { return false; }
  // How many reference queries of a lane merge() wants at most.
  virtual std::size_t n_references() const { return 0; }
  // Floats of workspace for a lane of n_tokens and head_dim.
  virtual std::size_t work_floats(std::size_t, std::size_t) const { return 0; }
  virtual Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const = 0;
};

// --- codec ---------------------------------------------------------------------------------------

// Encodes K or V of a page.
class Codec : public Stage {
 public:
  enum class Operand { k, v };
  // capacity: tokens in the page. The planes of the result live as long as the stage.
  virtual kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                        std::size_t capacity) const = 0;
  // The smallest capacity that the codec supports, a multiple of kPageStep (64 for groups of 64
  // tokens).
  virtual std::size_t capacity_step() const { return kernels::kPageStep; }
  // Whether it needs tables calibrated beforehand for each model.
  virtual bool is_calibrated() const { return false; }
};

// --- reader --------------------------------------------------------------------------------------

// The page selector: chooses the pages that a decode step attends to, and the tokens in them. Sinks
// and tail are always read.
class Reader : public Stage {
 public:
  virtual bool reads_all() const { return true; }
  // Bytes that note() writes for each page, by head_dim. They count as memory and are saved.
  virtual std::size_t note_bytes(std::size_t) const { return 0; }
  // Summarises the decoded keys [n_tokens, head_dim] of a new page, in main memory.
  virtual void note(std::span<const float>, std::size_t, std::span<std::byte>) const {}

  // Whether choose() ranks tokens, not only pages, and wants more workspace.
  virtual bool chooses_tokens() const { return false; }

  // What choose() leaves of one lane to the lane of the same number in later layers of the same
  // step. It belongs to the cache's step: a reader has no state.
  struct Carried {
    bool is_set = false;                       // not before a layer of the step has set it
    std::size_t layer = 0;                     // that did so last
    std::vector<std::int32_t> positions = {};  // rising; has capacity for n_carried()
  };
  virtual std::size_t n_carried() const { return 0; }  // positions at most; 0: it carries nothing
  // Whether choose() wants to know how much the query attends to each token: a pass over all keys.
  // Asked only of readers that carry.
  virtual bool needs_attention(std::size_t, const Carried&) const { return false; }

  struct Step {
    std::size_t layer = 0;
    float scale = 0;           // the layer's attention scale
    std::span<const float> q;  // [n_group, head_dim], main memory
    std::size_t head_dim = 0;
    std::span<const std::span<const std::byte>> notes;  // one per page
    std::span<const kernels::PageView> pages;
    // Workspace, as a decode step allocates nothing: [2, pages.size()], or [2, slots of the pages]
    // if it chooses tokens.
    std::span<float> work;
    // One per page, initially its live tokens. Of a chosen page only these are read: choose() may
    // clear some, not all.
    std::span<kernels::LiveMask> read = {};
    // For readers that carry; of the pages' slots, one page after the other.
    std::span<const std::int32_t> positions = {};
    // The largest share of a query head's attention, of that over all the lane holds; 0 of dead
    // slots. Empty unless needs_attention().
    std::span<const float> attention = {};
    Carried* carried = nullptr;  // set where it carries
    std::size_t window = 0;      // of the layer's attention; 0: none
  };
  // Appends the rising indices of the pages to read to an empty vector with enough capacity. Must
  // be safe for arbitrary notes, because they can come from disk.
  virtual void choose(const Step&, std::vector<std::size_t>&) const {}
};

}  // namespace satchel::kvcache
