// The contracts of the eight stages a recipe chooses from. A stage is one file in its folder that
// defines one StageEntry named <folder>_<file>; the build lists the folders
// (packaging/cmake/stage_table.cmake), nobody else does.
//
//   trigger   when is something decided?         Trigger::fires
//   scorer    how much does a token matter?      Scorer::observe per layer and chunk, then finish
//   filter    what is protected or smoothed?     Filter::protects, apply
//   allocator how much does each lane keep?      Allocator::totals before reading, lanes after scoring
//   assigner  which token gets which tier?       Assigner::assign
//   merger    what do the dropped leave behind?  Merger::merge, on exact K and V
//   codec     how are a tier's bytes made?       Codec::operand
//   reader    which pages does a step read?      Reader::note when a page is made, choose at a step
//
//   memory   float* and Half* are addresses in the backend's memory, spans are main memory
//   threads  const and without state: one stage serves every cache of its recipe
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/contract/backend.h"
#include "kvcache/cache_shape.h"
#include "kvcache/stages/params.h"
#include "kvcache/tier.h"

namespace satchel::kvcache {

enum class StageKind { trigger, scorer, filter, allocator, assigner, merger, codec, reader };
std::string_view to_text(StageKind kind);

class Stage {
 public:
  virtual ~Stage() = default;
  // A stage with parameters hides this with its own, and checks them there.
  Result<void> read(Params&) { return {}; }
};

struct StageEntry {
  StageKind kind;
  std::string_view name;    // as recipes write it: the file's name
  std::string_view source;  // paper, or "ours"
  Result<std::unique_ptr<Stage>> (*make)(Params& params);
};
std::span<const StageEntry* const> all_stages();  // by folder, then by file name

template <class T>
Result<std::unique_ptr<Stage>> make_stage(Params& params) {
  auto stage = std::make_unique<T>();
  SATCHEL_TRY(stage->read(params));
  return std::unique_ptr<Stage>(std::move(stage));
}

// The tokens over which one decision runs: a document or message that was read, or, while
// decoding, everything so far.
struct TokenSpan {
  std::size_t n_layers = 0;  // that take part: layers with a window are bounded anyway and do not
  std::size_t n_lanes = 0;   // of those layers
  std::size_t n_tokens = 0;
  std::size_t first_position = 0;
  std::size_t n_after = 0;  // tokens of the text behind the span
  double keep = 1;          // share of n_tokens to keep, averaged over lanes
  // What lanes of this model keep as a rule [n_lanes]; null: not measured yet.
  const LaneShares* lane_shares = nullptr;
  std::size_t first_lane = 0;  // Allocator::lanes: the first of the n_lanes that it is asked about
};

// --- trigger -------------------------------------------------------------------------------------

enum class Occasion {
  span_read,   // a document, whole or one span of it, has been read
  turn_ended,  // a message and its answer may be compressed now
  steps,       // kPageTokens decode steps have passed: the tails are flushed
  over_limit,  // memory is short
  idle,        // nobody waits
  asked,       // the user wants it now
};
struct Moment {
  Occasion occasion = Occasion::span_read;
  std::size_t n_tokens = 0;  // that a decision would be about
};
class Trigger : public Stage {
 public:
  virtual bool ever_fires() const = 0;
  virtual bool fires(const Moment& moment) const = 0;
};

// --- scorer --------------------------------------------------------------------------------------

enum class Purpose { reading, decoding, probe };

// One chunk of tokens on its way through one layer.
struct Observation {
  Purpose purpose = Purpose::reading;
  const LayerShape& layer;
  kernels::Batch batch;
  std::span<const std::int32_t> positions;  // of the batch, in main memory
  const float* q = nullptr;                 // [n_tokens, n_heads, head_dim], after RoPE
  const float* lse = nullptr;               // [n_tokens, n_heads], over everything the lane holds;
                                            // of a probe: over first tokens, the probed stretch
                                            // and the probe's own tokens
  const float* pre_rope_q = nullptr;        // as q; only where wanted
  const float* pre_rope_k = nullptr;        // [n_tokens, n_kv_heads, head_dim]; only where wanted
  const float* hidden = nullptr;            // [n_tokens, width] before the layer; only where wanted
  // Of a chunk of a reading: its exact K and V, [n_kv_heads] of the layer, scored or not.
  std::span<const kernels::ExactRun> chunk = {};
  std::size_t span_first = 0, span_end = 0;  // positions of the whole span that is read or probed
  double keep = 1;                           // share of the span to keep, averaged over lanes
  float* state = nullptr;  // [Scorer::state_floats()] of a reading, the scorer's to change
  // Of a block: q and lse again, the scorer's to change, and room for kBlockWork floats.
  float *block_q = nullptr, *block_lse = nullptr, *work = nullptr;
  // What a selector was taught of this layer; null: there is none for the model.
  const SelectorWeights::Layer* selector = nullptr;
};
inline constexpr std::size_t kBlockWork = 1024;
// What is scored of one lane: scores in the order of kernels::ScoreArgs, one for each slot.
struct ObservedLane {
  kernels::LaneView keys = {};
  // Of a block: the first tokens, where they are not among the keys; at most two runs.
  std::span<const kernels::ExactRun> sinks = {};
  // Of a chunk of a reading: what else the lane holds, all of it seen by the chunk's queries.
  kernels::LaneView held = {};
  std::size_t first_head = 0, n_group = 1;
  float* scores = nullptr;  // zero before the first observation of the layer
  // What is known of the worth of its keys (KeyWorth), empty: nothing.
  std::span<const float> worth = {};
  // Share of the span that the lane will keep; nothing: not known before all is scored.
  std::optional<double> keep = std::nullopt;
};
// What a lane's scores are when all has been observed, one for each token of the span.
struct ScoredLane {
  std::span<float> scores;
  const Half* k = nullptr;  // [n_tokens, head_dim] where the exact keys are at hand, else null
  const Half* v = nullptr;
};

struct ScorerWants {
  bool reading = false;      // queries of the reading; keys: the span's own tokens
  bool decoding = false;     // queries of decode steps; keys: all that the lane holds
  bool newest_step = false;  // … of the last step before a decision only, in place of older scores
  bool probe = false;        // a second pass over the text (KVzip); keys: the probed stretch
  // Reading only: observe() is called for blocks of so many tokens (a span's are as alike as they can
  // be), when all keys of the block are there; 0: for each chunk as it comes; with pre_rope for both,
  // and blocks have block_q. Takes the memory of so many queries.
  std::size_t block_tokens = 0;
  bool exact_kv = false;  // finish() reads k and v: such a recipe decides inside the layer, and
                          // what it could not decide there is lowered, not chosen from
  bool pre_rope = false, hidden = false;
};
// Tokens of one lane that were read long ago, as they are held.
struct HeldKeys {
  std::span<const float> k;  // [n_tokens, head_dim] before RoPE, main memory
  std::size_t head_dim = 0;
  std::span<const float> worth;  // as ObservedLane's
};
class Scorer : public Stage {
 public:
  // known: what is known of the model's lanes, or null. Only `block_tokens` and `pre_rope` may depend
  // on it.
  virtual ScorerWants wants(const LaneShares* known) const = 0;
  // Whether caches of this model can have it. If not, what it lacks and what to use instead: not_found
  // where this model lacks it, unsupported where every model does, whose recipe is only listed then.
  virtual Result<void> check(const CacheShape&) const { return {}; }
  // What observe() carries from chunk to chunk of a layer that is read, zero before the first: numbers,
  // for one layer at a time, of a span of n_tokens; more for more of them.
  virtual std::size_t state_floats(const LayerShape&, [[maybe_unused]] std::size_t n_tokens) const {
    return 0;
  }
  // After each chunk of a kind that is wanted, all lanes of the layer; adds to the scores, or
  // raises them.
  virtual Result<void> observe(kernels::Backend& backend, const Observation& seen,
                               std::span<const ObservedLane> lanes) const = 0;
  // Whether text can be scored again when its queries are long gone: then a recipe may let more of it
  // go where memory is short.
  virtual bool scores_held() const { return false; }
  // What these tokens are worth by their keys alone, observe() or not; false: not known of this lane.
  //   out  scores [n_tokens], zero before
  virtual bool score_held(const HeldKeys&, std::span<float>) const { return false; }
  // Once for each layer and decision. Larger is kept; all finite.
  virtual Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan&,
                              std::span<const ScoredLane>) const {
    return {};
  }
};

// The score kernel for every lane of an observation, all parameters but `args`' taken from it.
Result<void> score_lanes(kernels::Backend& backend, const Observation& seen,
                         std::span<const ObservedLane> lanes, const kernels::ScoreArgs& args);
// The same for n_rows of the observation's tokens only, or for its last ones.
Observation rows_of(const Observation& seen, std::size_t first, std::size_t n_rows);
Observation last_rows(const Observation& seen, std::size_t n_rows);
// Of a block, whose queries are the scorer's to change: raises scores to what the queries, turned as
// if the block were said again, look at (scorers/echo.cpp has the formula).
Result<void> echo_lanes(kernels::Backend& backend, const Observation& seen,
                        std::span<const ObservedLane> lanes, kernels::Sees sees);
// Of a chunk of a reading: what its keys are worth by themselves, which stands in ObservedLane::worth.
//   needs   pre_rope_k
Result<void> key_worth_lanes(kernels::Backend& backend, const Observation& seen,
                             std::span<const ObservedLane> lanes);
// Of a block: adds every lane's keys, and its sinks where all keys are seen, to block_lse.
Result<void> log_sum_lanes(kernels::Backend& backend, const Observation& seen,
                           std::span<const ObservedLane> lanes, kernels::Sees sees);

// --- filter --------------------------------------------------------------------------------------

inline constexpr float kNeverEvict = std::numeric_limits<float>::infinity();
inline constexpr float kNotThere = -std::numeric_limits<float>::infinity();

class Filter : public Stage {
 public:
  struct Protected {
    std::size_t first = 0, last = 0;  // tokens of the span, may overlap
  };
  virtual Protected protects(const TokenSpan&) const { return {}; }
  // One lane. Entries that are kNeverEvict or kNotThere stay so.
  virtual void apply(const TokenSpan& span, std::span<float> scores) const = 0;
};

// --- allocator -----------------------------------------------------------------------------------

// What lanes that share a total have scored. Entries of kNeverEvict are kept in any case, those of
// kNotThere are gone already.
struct LaneScores {
  std::span<const float> scores;
};

// How many tokens of the span does each lane keep, protected ones included?
class Allocator : public Stage {
 public:
  // layer: the lanes of a layer share what totals() gave it. cache: all lanes share the sum.
  enum class Scope { layer, cache };
  virtual Scope scope() const { return Scope::layer; }
  // Needs no scores, so that the memory of a prompt is known before it is read.
  //   out  totals [n_layers], of all lanes of a layer together; their sum is keep_total(span), or
  //        what is protected in all lanes if that is more
  virtual void totals(const TokenSpan& span, std::size_t n_protected,
                      std::span<std::size_t> totals) const;
  virtual bool wants_lane_shares() const { return false; }
  // Needs no scores either, where it can: budgets of all lanes, so that a lane without a choice is
  // not scored and one that keeps little has a short tail; decided layer by layer then, whatever the
  // scope. False: scores decide, `budgets` is not touched.
  //   out  budgets [span.n_lanes], none below n_protected, their sum keep_total(span) as far as that
  //        allows
  virtual bool known(const TokenSpan&, std::size_t, std::span<std::size_t>) const { return false; }
  //   out  budgets [lanes.size()], their sum is `total` as far as the lanes hold so many; none is
  //        below what its lane protects. The default: all alike.
  virtual void lanes(const TokenSpan& span, std::span<const LaneScores> lanes, std::size_t total,
                     std::span<std::size_t> budgets) const;
};

// --- assigner ------------------------------------------------------------------------------------

// Which of one lane's tokens get which tier?
//   out     tiers [n]: an index into the recipe's codecs, finest first, or kGone; exactly `budget`
//           are not kGone
struct AssignedLane {
  std::span<const float> scores;
  std::size_t budget = 0;
  std::span<std::uint8_t> tiers;
};
class Assigner : public Stage {
 public:
  virtual void assign(std::span<const float> scores, std::size_t budget,
                      std::span<std::uint8_t> tiers) const = 0;
  // All lanes of a layer, of the same tokens. The default: each by itself.
  virtual void assign_layer(std::span<const AssignedLane> lanes) const {
    for (const AssignedLane& lane : lanes) assign(lane.scores, lane.budget, lane.tiers);
  }
};

// --- merger --------------------------------------------------------------------------------------

// What do dropped tokens leave behind in the kept ones? May change k and v of tokens that stay.
struct MergeLane {
  Half* k = nullptr;  // [n_tokens, head_dim], after RoPE
  Half* v = nullptr;
  std::size_t n_tokens = 0, head_dim = 0;
  std::size_t first_position = 0;       // of its first token; the others follow one by one
  const LayerShape* layer = nullptr;    // what turned its keys
  std::span<const std::uint8_t> tiers;  // as assigned
  std::span<const float> scores;        // kNeverEvict: may carry, never given away
  std::span<const float> unfiltered;    // scores as the scorer left them, of protected ones too
  std::span<float> counts;  // how many tokens each stands for, 1 before; kept with the page where
                            // wants_counts()
};
class Merger : public Stage {
 public:
  virtual bool merges() const { return true; }
  virtual bool wants_counts() const { return false; }
  virtual Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const = 0;
};

// --- codec ---------------------------------------------------------------------------------------

// How are the bytes of K or of V in a page made?
class Codec : public Stage {
 public:
  enum class Operand { k, v };
  // capacity: tokens of the page. Planes that the shape points to live as long as the stage.
  virtual kernels::OperandShape operand(Operand operand, std::size_t head_dim,
                                        std::size_t capacity) const = 0;
  // The least capacity the codec can lay out, a multiple of kPageStep (groups of 64 tokens: 64).
  virtual std::size_t capacity_step() const { return kernels::kPageStep; }
  // Whether it needs tables that were made from texts beforehand, for each model.
  virtual bool is_calibrated() const { return false; }
};

// --- reader --------------------------------------------------------------------------------------

// Which pages does one decode step read? Sinks and tail are always read.
class Reader : public Stage {
 public:
  virtual bool reads_all() const { return true; }
  // Bytes that note() leaves beside each page; counted, saved with it.
  virtual std::size_t note_bytes(std::size_t) const { return 0; }
  // k [n_tokens, head_dim] of a page just made, as it decodes, main memory.
  virtual void note(std::span<const float>, std::size_t, std::span<std::byte>) const {}
  struct Step {
    std::size_t layer = 0;
    float scale = 0;           // the layer's attention scale
    std::span<const float> q;  // [n_group, head_dim], main memory
    std::size_t head_dim = 0;
    std::span<const std::span<const std::byte>> notes;  // one for each page
    std::span<const kernels::PageView> pages;
    std::span<float> work;  // [2, pages.size()], the reader's own: a decode step allocates nothing
  };
  // Appends rising indices of the pages to read to `chosen`, which is empty and has room. Notes come
  // from disk too: safe on any bytes.
  virtual void choose(const Step&, std::vector<std::size_t>&) const {}
};

}  // namespace satchel::kvcache
