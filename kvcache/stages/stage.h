// The contracts of the eight stages a recipe chooses from. A stage is one file in its folder that
// defines one StageEntry named <folder>_<file>; the build lists the folders
// (packaging/cmake/stage_table.cmake), nobody else does.
//   memory   `scores`, `kept` and runs are addresses in the backend's memory, spans in main memory
//   threads  const and without state: one stage serves every cache of its recipe
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "kernels/contract/backend.h"
#include "kvcache/stages/params.h"

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

// The new tokens of one prompt, over which a selection runs.
struct TokenSpan {
  std::size_t n_layers = 0, n_kv_heads = 0;
  std::size_t n_tokens = 0;
  std::size_t first_position = 0;
  double keep = 1;  // share of n_tokens to keep, averaged over lanes
};

// The span's tokens of one lane, as the scorer sees them.
struct SpanLane {
  kernels::ExactRun keys;  // what has been read so far
  std::size_t n_heads = 0, head_dim = 0;
  std::size_t first_head = 0, n_group = 1;  // the query heads that read this lane
  float scale = 1;
};
struct QueryChunk {
  const float* q = nullptr;    // [n_tokens, n_heads, head_dim]
  const float* lse = nullptr;  // [n_tokens, n_heads], over everything the lane holds
  std::span<const std::int32_t> positions;
};

// When does a selection run?
class Trigger : public Stage {
 public:
  virtual bool ever_fires() const = 0;
  virtual bool fires_after_prompt(std::size_t n_new_tokens) const = 0;
};

// How much does each token matter? Larger is kept; all finite.
class Scorer : public Stage {
 public:
  virtual bool wants_queries() const = 0;
  // After each chunk where wants_queries(); adds to scores [lane.keys.n_tokens], zero before the
  // first.
  virtual Result<void> observe(kernels::Backend& backend, const SpanLane& lane,
                               const QueryChunk& chunk, float* scores) const = 0;
  // Once, with all keys of the span; scores as observe() left them.
  virtual Result<void> finish(kernels::Backend& backend, const SpanLane& lane,
                              float* scores) const = 0;
};

// Smooths scores, or protects tokens by a score of +infinity.
class Filter : public Stage {
 public:
  struct Protected {
    std::size_t first = 0, last = 0;  // tokens of the span, may overlap
  };
  virtual Protected protects(const TokenSpan& span) const = 0;
  virtual Result<void> apply(kernels::Backend& backend, const TokenSpan& span,
                             float* scores) const = 0;
};

// How many tokens of the span does each lane keep, protected ones included?
//   out     budgets [n_layers * n_kv_heads], each in [min(n_protected, n_tokens), n_tokens]; their
//           sum is keep_total(span), or what is protected in all lanes if that is more
//   needs   no scores: so the memory of a prompt is known before it is read
class Allocator : public Stage {
 public:
  virtual void allocate(const TokenSpan& span, std::size_t n_protected,
                        std::span<std::size_t> budgets) const = 0;
};

// Which token gets which tier? So far: kept, or gone.
//   out     kept [budget]: rising indices into the span
class Assigner : public Stage {
 public:
  virtual Result<void> assign(kernels::Backend& backend, const float* scores, std::size_t n_scores,
                              std::size_t budget, std::int32_t* kept) const = 0;
};

// What do dropped tokens leave behind in the kept ones? May change k and v of the kept tokens.
struct MergeLane {
  Half* k = nullptr;  // [n_tokens, head_dim]
  Half* v = nullptr;
  std::size_t n_tokens = 0, head_dim = 0;
  const std::int32_t* kept = nullptr;  // [n_kept]
  std::size_t n_kept = 0;
};
class Merger : public Stage {
 public:
  virtual Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const = 0;
};

// How are the bytes of K or of V in a page made? A point in what PageLayout can say.
struct PagePlane {
  kernels::PageForm form = kernels::PageForm::exact16;
  std::size_t bits = 16;
  std::size_t group = 0;  // K: tokens, V: channels
};
class Codec : public Stage {
 public:
  virtual PagePlane plane() const = 0;
};

// Which pages does one decode step read?
class Reader : public Stage {
 public:
  virtual std::span<const kernels::PageView> pages(
      std::span<const kernels::PageView> all) const = 0;
};

}  // namespace satchel::kvcache
