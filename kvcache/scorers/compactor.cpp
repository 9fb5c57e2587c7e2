// Scores a token by the leverage of its key plus the attention from its neighbourhood, both past
// and future.
//   formula score = blend · z(leverage) + z(a), z: less the mean, over the standard deviation, of
//           the lane's candidates; a_j = mean over three neighbours of |v_j| · mean over the lane's
//           heads of Σ_i softmax(s q_i·k) over the block of j, i in that block, before and behind j
//   params  block   tokens of a block, counted from the first candidate (256); the last may be
//                   shorter
//           blend   weight of leverage (-1: the share of the text that goes)
//           first   first tokens of the conversation that are no candidates (8)
//           last    last tokens of the text that are no candidates (4)
//           sketch  as of leverage (48)
//           scaled  false: s = 1, as in NVIDIA's kvpress; true: the attention scale
//   needs   queries, and keys before RoPE, of every chunk; a block of queries, and mean and
//           covariance of keys, kept while a layer is read
//   cost    one more Q·Kᵀ of each block; leverage
//   source  arXiv:2507.08143 (Compactor)
//   sinks   a head's sink logit has no part in the softmax over a block
//   differs kvpress does not scale logits, lets the padding of the last block take part, and
//           normalises over all heads of a layer; its default blend is kept, the paper calibrates
//           it; the sketch is the same on every run; tokens that are no candidates get the largest
//           score
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/index_range.h"
#include "kvcache/stages/leverage.h"

namespace satchel::kvcache {
namespace {

// Mean 0, standard deviation 1 (of n - 1); what is all alike becomes 0.
void normalise(std::span<double> x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, squares = 0;
  for (const double each : x) mean += each / n;
  for (const double each : x) squares += (each - mean) * (each - mean);
  const double deviation = std::max(n > 1 ? std::sqrt(squares / (n - 1)) : 0, 1e-6);
  for (double& each : x) each = (each - mean) / deviation;
}

class CompactorScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(block_, params.count("block", {.fallback = 256, .min = 1, .max = 4096}));
    SATCHEL_TRY_ASSIGN(blend_, params.number("blend", {.fallback = -1, .min = -1, .max = 1000}));
    SATCHEL_TRY_ASSIGN(first_, params.count("first", {.fallback = 8, .min = 0, .max = 1024}));
    SATCHEL_TRY_ASSIGN(last_, params.count("last", {.fallback = 4, .min = 0, .max = 1024}));
    SATCHEL_TRY_ASSIGN(sketch_, params.count("sketch", {.fallback = 48, .min = 0, .max = 1024}));
    SATCHEL_TRY_ASSIGN(scaled_, params.flag("scaled", true));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .pre_rope = true};
  }
  // Moments of keys, a block's queries, their normalisers.
  std::size_t state_floats(const LayerShape& layer, std::size_t) const override {
    return moments_floats(layer.n_kv_heads, layer.head_dim) +
           block_ * layer.n_heads * (layer.head_dim + 1);
  }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const LayerShape& layer = seen.layer;
    const IndexRange all = candidates(seen);
    const auto begin = static_cast<std::size_t>(seen.positions.front()) - seen.span_first;
    const std::size_t end = begin + seen.batch.n_tokens;
    const std::size_t from = std::clamp(all.begin, begin, end), to = std::clamp(all.end, from, end);
    SATCHEL_TRY_ASSIGN(const std::vector<double> keys, add_moments(backend,
                                                                   {.x = seen.pre_rope_k,
                                                                    .first = from - begin,
                                                                    .end = to - begin,
                                                                    .n_vectors = layer.n_kv_heads,
                                                                    .d = layer.head_dim},
                                                                   seen.state));
    SATCHEL_TRY(look_around(backend, seen, lanes, {from, to}));
    return score_spans(backend, seen, lanes, [&](const SpanLane& lane, std::span<float> scores) {
      return score_lane(backend, lane, moments_of(keys, lane.head(), layer.head_dim), scores);
    });
  }

 private:
  // Of the span's tokens.
  IndexRange candidates(const Observation& seen) const {
    const std::size_t n = seen.span_end - seen.span_first;
    const std::size_t first = std::min(n, first_ - std::min(first_, seen.span_first));
    return {.begin = first, .end = std::max(first, n - std::min(n, last_))};
  }

  // Adds the chunk's candidates to the block that is open; blocks that are whole then are looked
  // at.
  Result<void> look_around(kernels::Backend& backend, const Observation& seen,
                           std::span<const ObservedLane> lanes, IndexRange chunk) const {
    const LayerShape& layer = seen.layer;
    const IndexRange all = candidates(seen);
    const auto begin = static_cast<std::size_t>(seen.positions.front()) - seen.span_first;
    const std::size_t row = layer.n_heads * layer.head_dim;
    float* queries = seen.state + moments_floats(layer.n_kv_heads, layer.head_dim);
    for (std::size_t at = chunk.begin; at < chunk.end;) {
      const std::size_t in_block = (at - all.begin) % block_;
      const std::size_t n = std::min(chunk.end - at, block_ - in_block);
      SATCHEL_TRY(backend.copy(reinterpret_cast<std::byte*>(queries + in_block * row),
                               reinterpret_cast<const std::byte*>(seen.q + (at - begin) * row),
                               n * row * sizeof(float)));
      at += n;
      if (in_block + n == block_ || at == all.end)
        SATCHEL_TRY(look(backend, seen, lanes, {at - in_block - n, at}));
    }
    return {};
  }

  Result<void> look(kernels::Backend& backend, const Observation& seen,
                    std::span<const ObservedLane> lanes, IndexRange block) const {
    const std::size_t n = block.end - block.begin;
    LayerShape layer = seen.layer;
    if (!scaled_) layer.attention_scale = 1;
    float* queries = seen.state + moments_floats(layer.n_kv_heads, layer.head_dim);
    float* lse = queries + block_ * layer.n_heads * layer.head_dim;
    const std::vector<float> nothing(n * layer.n_heads, -std::numeric_limits<float>::infinity());
    SATCHEL_TRY(upload(backend, lse, nothing));
    std::vector<kernels::ExactRun> runs(lanes.size());
    std::vector<ObservedLane> of_block(lanes.begin(), lanes.end());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const kernels::ExactRun& all = lanes[i].keys.runs[0];
      runs[i] = {.k = all.k + block.begin * layer.head_dim,
                 .v = all.v + block.begin * layer.head_dim,
                 .positions = all.positions + block.begin,
                 .n_tokens = n};
      of_block[i].keys = {.runs = {&runs[i], 1}, .pages = {}};
      of_block[i].scores += block.begin;
    }
    const auto position = [&](std::size_t t) {
      return static_cast<std::int32_t>(seen.span_first + t);
    };
    const Observation whole{.layer = layer,
                            .batch = {.positions = runs[0].positions,
                                      .n_tokens = n,
                                      .position_min = position(block.begin),
                                      .position_max = position(block.end - 1)},
                            .positions = {},
                            .q = queries,
                            .lse = lse,
                            .block_lse = lse};
    SATCHEL_TRY(logsumexp_lanes(backend, whole, of_block, kernels::AttentionMask::full));
    kernels::ScoreArgs args;
    args.lane.mask = kernels::AttentionMask::full;
    return score_lanes(backend, whole, of_block, args);
  }

  // What look() has added up stands in the lane's scores.
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane, const Moments& keys,
                          std::span<float> scores) const {
    const IndexRange all = candidates(lane.seen);
    const std::size_t n = all.end - all.begin;
    if (n == 0) return {};
    SATCHEL_TRY(download(backend, scores, lane.lane.scores));
    std::vector<double> looked(n), pooled(n), lever(n);
    SATCHEL_TRY(each_row(backend, lane.v, [&](std::size_t t, std::span<const float> value) {
      if (t < all.begin || t >= all.end) return;
      looked[t - all.begin] = static_cast<double>(scores[t]) * std::sqrt(squared_length(value));
    }));
    for (std::size_t i = 0; i < n; ++i)
      pooled[i] = ((i > 0 ? looked[i - 1] : 0) + looked[i] + (i + 1 < n ? looked[i + 1] : 0)) / 3;
    SATCHEL_TRY(leverage(backend, lane, keys, sketch_, scores));
    for (std::size_t i = 0; i < n; ++i) lever[i] = static_cast<double>(scores[all.begin + i]);
    normalise(pooled);
    normalise(lever);
    const double blend = blend_ < 0 ? 1 - lane.seen.keep : blend_;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, blend * lever[i] + pooled[i]);
    std::fill(scores.begin(), scores.end(), static_cast<float>(most));
    for (std::size_t i = 0; i < n; ++i)
      scores[all.begin + i] = static_cast<float>(blend * lever[i] + pooled[i]);
    return {};
  }

  std::size_t block_ = 256, first_ = 8, last_ = 4, sketch_ = 48;
  double blend_ = -1;
  bool scaled_ = true;
};
}  // namespace

extern const StageMaker scorers_compactor = stage_of<CompactorScorer>("arXiv:2507.08143");
}  // namespace satchel::kvcache
