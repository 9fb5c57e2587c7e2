// Helpers for scorers that use the exact keys and values of a whole text, which exist at the last
// chunk of its prefill. Rows are downloaded a few at a time, so long texts need no more memory.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// Called with each row t [head_dim] of a lane's keys or values, in order. The row is valid during
// the call.
using TakesRow = std::function<void(std::size_t t, std::span<const float> row)>;
struct Rows {
  const Half* first = nullptr;  // [n, head_dim] in the backend's memory
  std::size_t n = 0, head_dim = 0;
};
Result<void> each_row(kernels::Backend& backend, const Rows& rows, const TakesRow& take);
double squared_length(std::span<const float> row);
// The lane's row, if Observation::state holds one row over the span's tokens per KV head.
float* state_row(const Observation& seen, const ObservedLane& lane);

// One lane at the end of prefill.
struct SpanLane {
  const Observation& seen;
  const ObservedLane& lane;
  Rows k, v;  // of the span, keys after RoPE

  std::size_t head() const { return lane.first_head / lane.n_group; }  // among the layer's KV heads
  // Undoes the RoPE of key t.
  void unrotate(std::size_t t, std::span<float> key) const;
  // How many of the span's first tokens are among the conversation's first `sinks`.
  std::size_t n_first(std::size_t sinks) const;
};
// At the last chunk of a prefill, calls `score` for each lane with zeros [n_tokens], which become
// the lane's scores. Does nothing for other chunks.
using ScoresSpan = std::function<Result<void>(const SpanLane& lane, std::span<float> scores)>;
Result<void> score_spans(kernels::Backend& backend, const Observation& seen,
                         std::span<const ObservedLane> lanes, const ScoresSpan& score);

// Base of scorers that score each lane by itself, from the keys and values of a whole text.
class SpanScorer : public Scorer {
 public:
  ScorerRequirements requirements(const HeadBudgets*) const override { return {.prefill = true}; }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    return score_spans(backend, seen, lanes, [&](const SpanLane& lane, std::span<float> scores) {
      return score_lane(backend, lane, scores);
    });
  }

 private:
  // As ScoresSpan.
  virtual Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                                  std::span<float> scores) const = 0;
};

}  // namespace satchel::kvcache
