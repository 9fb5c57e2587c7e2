// What scorers share that look at the keys and values of a whole text: all of these are there, exact,
// with the last chunk of its reading. A few rows at a time come to main memory, so that a long text
// takes no more room than a short one.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// Called with row t [head_dim] of a lane's keys or values, in order, valid during the call.
using TakesRow = std::function<void(std::size_t t, std::span<const float> row)>;
struct Rows {
  const Half* first = nullptr;  // [n, head_dim] in the backend's memory
  std::size_t n = 0, head_dim = 0;
};
Result<void> each_row(kernels::Backend& backend, const Rows& rows, const TakesRow& take);
double squared_length(std::span<const float> row);
// Scores that lie in the backend's memory.
Result<void> load_scores(kernels::Backend& backend, const float* from, std::span<float> to);
// Where Observation::state holds a row of the span's tokens for each KV head of the layer: the lane's.
float* state_row(const Observation& seen, const ObservedLane& lane);

// All that a scorer can say of one lane when its text has been read.
struct SpanLane {
  const Observation& seen;
  const ObservedLane& lane;
  Rows k, v;  // of the span, keys after RoPE

  std::size_t head() const { return lane.first_head / lane.n_group; }  // among the layer's KV heads
  // Of these keys, as they were before RoPE.
  void unturn(std::size_t t, std::span<float> key) const;
  // How many of the span's first tokens are among the conversation's first `sinks`.
  std::size_t n_first(std::size_t sinks) const;
};
// With the last chunk of a reading: calls `score` for each lane with zeros [n_tokens], which then are
// the lane's scores. Any other chunk: nothing.
using ScoresSpan = std::function<Result<void>(const SpanLane& lane, std::span<float> scores)>;
Result<void> score_spans(kernels::Backend& backend, const Observation& seen,
                         std::span<const ObservedLane> lanes, const ScoresSpan& score);

// A scorer that needs nothing else: each lane by itself, of the keys and values of a whole text.
class SpanScorer : public Scorer {
 public:
  ScorerWants wants(const LaneShares*) const override { return {.reading = true}; }
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
