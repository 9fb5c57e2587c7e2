// Columns of the attention matrix for one tile of keys: keys stay, query rows stream by with their
// logsumexp. Rows are taken in rising order, whatever the threads do.
//   maximum  without weights it is taken of capped logit − lse, and one exp a key follows at the
//            end: exp is monotone, so that exp of the largest is the largest exp. The argument of
//            that exp is the same number that every pair's would have had, and so is the error of
//            exp, 2e-7. Weights may differ in sign: with them each pair has its exp.
#pragma once

#include "kernels/cpu/attention/attend_tile_kernel.h"
#include "kernels/cpu/attention/key_mask.h"
#include "kernels/cpu/dispatch/score_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/rows/vector_ops_kernel.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct ScoreTile {
  using Float = typename V::Float;

  // kRows query rows: which keys [low, high) each sees, and what its exponentials need.
  template <std::size_t kRows>
  struct Rows {
    std::size_t low[kRows], high[kRows], least = kTileTokens, most = 0;
    bool all_see_all = true;
    float lse[kRows], weight[kRows];
    float below[kRows];  // Of::below_mean: probabilities less than this count
  };

  SATCHEL_INLINE float below_mean(const ScoreArgs& args, std::int64_t position) {
    const std::int64_t n_seen = position + 1 + args.n_beside;
    return static_cast<float>((1 - kBelowSlack) / static_cast<double>(n_seen > 1 ? n_seen : 1));
  }

  // Row r is head first_head + r % n_group of token r / n_group.
  template <std::size_t kRows>
  SATCHEL_INLINE void load(const ScoreJob& job, std::size_t first, Rows<kRows>& rows) {
    const LaneQueries& lane = job.args->lane;
    const TileTokens& tokens = job.tile.tokens;
    const std::size_t d = lane.head_dim;
    const Float scale = V::broadcast_float(lane.scale);
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t token = (first + r) / lane.n_group;
      const std::size_t query = token * lane.n_heads + lane.first_head + (first + r) % lane.n_group;
      const IndexRange seen =
          range_of(tokens.positions, tokens.n_tokens,
                   keys_seen_from(lane, std::int64_t{lane.batch.positions[token]}));
      rows.low[r] = seen.begin;
      rows.high[r] = seen.end;
      rows.all_see_all &= seen.begin == 0 && seen.end == tokens.n_tokens;
      if (seen.begin < seen.end) {
        rows.least = seen.begin < rows.least ? seen.begin : rows.least;
        rows.most = seen.end > rows.most ? seen.end : rows.most;
      }
      rows.lse[r] = job.args->lse[query];
      rows.weight[r] = job.args->weights == nullptr ? 1.0f : job.args->weights[token];
      rows.below[r] = below_mean(*job.args, std::int64_t{lane.batch.positions[token]});
      const float* q = lane.q + query * d;
      VectorOps<V>::map(q, q, d, job.rows + r * d,
                        [&](Float x, Float) SATCHEL_INLINE_LAMBDA { return V::mul(x, scale); });
    }
    rows.least -= rows.least % V::kFloats;
  }

  // cap(logit) − lse of kFloats keys
  SATCHEL_INLINE Float log_probabilities(const float* logits, float soft_cap, float lse) {
    Float x = V::load_float(logits);
    if (soft_cap > 0) {
      const Float cap = V::broadcast_float(soft_cap);
      x = V::mul(cap, VectorOps<V>::tanh(V::div(x, cap)));
    }
    return V::sub(x, V::broadcast_float(lse));
  }
  // a for the elements of [low, high), which starts before element t or past it, else b
  SATCHEL_INLINE Float between(std::size_t t, std::size_t low, std::size_t high, Float a, Float b) {
    a = V::first_floats(high - t, a, b);
    return low > t ? V::first_floats(low - t, b, a) : a;
  }

  // Column sums without weights, cap or window, as most selections need them: a seventh less work.
  template <std::size_t kRows>
  SATCHEL_INLINE void sum_plainly(const Rows<kRows>& rows, const float (*logits)[kTileTokens],
                                  double* sums) {
    for (std::size_t t = 0; t < rows.most; t += V::kFloats) {
      Float added = V::zero_float();
      for (std::size_t r = 0; r < kRows; ++r) {
        if (rows.high[r] <= t) continue;
        const Float p = VectorOps<V>::exp(
            V::sub(V::load_float(logits[r] + t), V::broadcast_float(rows.lse[r])));
        added = V::add(added, V::first_floats(rows.high[r] - t, p, V::zero_float()));
      }
      V::add_to_doubles(sums + t, added);
    }
  }

  // How often a key has less than the mean; with weights, the sum of the weights.
  template <std::size_t kRows>
  SATCHEL_INLINE void count_rows(const ScoreJob& job, const Rows<kRows>& rows,
                                 const float (*logits)[kTileTokens], double* sums) {
    for (std::size_t t = 0; t < rows.most; t += V::kFloats) {
      Float added = V::zero_float();
      for (std::size_t r = 0; r < kRows; ++r) {
        if (rows.high[r] <= t) continue;
        const Float p = VectorOps<V>::exp(
            log_probabilities(logits[r] + t, job.args->lane.soft_cap, rows.lse[r]));
        const Float counted = V::pick_floats(V::above(V::broadcast_float(rows.below[r]), p),
                                             V::broadcast_float(rows.weight[r]), V::zero_float());
        added = V::add(added, V::first_floats(rows.high[r] - t, counted, V::zero_float()));
      }
      V::add_to_doubles(sums + t, added);
    }
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void sum_rows(const ScoreJob& job, const Rows<kRows>& rows,
                               const float (*logits)[kTileTokens], double* sums) {
    for (std::size_t t = rows.least; t < rows.most; t += V::kFloats) {
      Float added = V::zero_float();
      for (std::size_t r = 0; r < kRows; ++r) {
        if (rows.high[r] <= t || rows.low[r] >= t + V::kFloats) continue;
        const Float x = log_probabilities(logits[r] + t, job.args->lane.soft_cap, rows.lse[r]);
        const Float p = V::mul(VectorOps<V>::exp(x), V::broadcast_float(rows.weight[r]));
        added = V::add(added, between(t, rows.low[r], rows.high[r], p, V::zero_float()));
      }
      V::add_to_doubles(sums + t, added);
    }
  }

  // Where the maxima of row `r` are kept: one row of them serves all heads for Heads::max.
  SATCHEL_INLINE float* largest_of(const ScoreJob& job, std::size_t r) {
    if (job.args->heads == ScoreArgs::Heads::max) return job.largest;
    return job.largest + r % job.args->lane.n_group * kTileTokens;
  }

  // Maxima where all rows see all keys and nothing is capped or weighted.
  template <std::size_t kRows>
  SATCHEL_INLINE void largest_plainly(const ScoreJob& job, std::size_t first,
                                      const Rows<kRows>& rows, const float (*logits)[kTileTokens]) {
    if (job.args->heads == ScoreArgs::Heads::max) {
      for (std::size_t t = 0; t < rows.most; t += V::kFloats) {
        Float most = V::load_float(job.largest + t);
        unroll<0, kRows>([&](auto r) SATCHEL_INLINE_LAMBDA {
          most = V::max(most, V::sub(V::load_float(logits[r.value] + t),
                                     V::broadcast_float(rows.lse[r.value])));
        });
        V::store(job.largest + t, most);
      }
      return;
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      float* largest = largest_of(job, first + r);
      const Float lse = V::broadcast_float(rows.lse[r]);
      for (std::size_t t = 0; t < rows.most; t += V::kFloats)
        V::store(largest + t,
                 V::max(V::load_float(largest + t), V::sub(V::load_float(logits[r] + t), lse)));
    }
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void largest_of_rows(const ScoreJob& job, std::size_t first,
                                      const Rows<kRows>& rows, const float (*logits)[kTileTokens]) {
    const ScoreArgs& args = *job.args;
    const Float none = V::broadcast_float(-__builtin_inff());
    for (std::size_t r = 0; r < kRows; ++r) {
      float* largest = largest_of(job, first + r);
      for (std::size_t t = rows.least; t < rows.most; t += V::kFloats) {
        if (rows.high[r] <= t || rows.low[r] >= t + V::kFloats) continue;
        Float x = log_probabilities(logits[r] + t, args.lane.soft_cap, rows.lse[r]);
        if (args.weights != nullptr)
          x = V::mul(VectorOps<V>::exp(x), V::broadcast_float(rows.weight[r]));
        x = between(t, rows.low[r], rows.high[r], x, none);
        V::store(largest + t, V::max(V::load_float(largest + t), x));
      }
    }
  }

  // Rows first … first + kRows - 1 of the lane's queries, added to `sums` or taken into `largest`.
  template <std::size_t kRows>
  SATCHEL_INLINE void rows(const ScoreJob& job, std::size_t first, double* sums) {
    const ScoreArgs& args = *job.args;
    const LaneQueries& lane = args.lane;
    Rows<kRows> rows;
    load<kRows>(job, first, rows);
    if (rows.most == 0) return;
    alignas(64) float logits[kRows][kTileTokens];
    TileProduct<V>::template logits<kRows>(job.rows, lane.head_dim, job.tile, rows.least, rows.most,
                                           logits);
    const bool plain = args.weights == nullptr && lane.soft_cap == 0;
    const bool from_first = lane.mask != AttentionMask::band && lane.window == 0;
    if (args.queries == ScoreArgs::Queries::sum) {
      if (args.of == ScoreArgs::Of::below_mean)
        count_rows<kRows>(job, rows, logits, sums);
      else if (plain && from_first)
        sum_plainly<kRows>(rows, logits, sums);
      else
        sum_rows<kRows>(job, rows, logits, sums);
    } else if (plain && rows.all_see_all) {
      largest_plainly<kRows>(job, first, rows, logits);
    } else {
      largest_of_rows<kRows>(job, first, rows, logits);
    }
  }

  // From logarithms to probabilities; -infinity, where no query sees the key, stays.
  SATCHEL_INLINE void exponentiate(const ScoreJob& job) {
    const Float none = V::broadcast_float(-__builtin_inff());
    for (std::size_t i = 0; i < n_largest(job); i += V::kFloats) {
      const Float x = V::load_float(job.largest + i);
      V::store(job.largest + i, V::pick_floats(V::above(x, none), VectorOps<V>::exp(x), none));
    }
  }
  SATCHEL_INLINE std::size_t n_largest(const ScoreJob& job) {
    if (job.args->queries == ScoreArgs::Queries::sum) return 0;
    return (job.args->heads == ScoreArgs::Heads::max ? 1 : job.args->lane.n_group) * kTileTokens;
  }

  // -infinity where no query sees the key.
  SATCHEL_INLINE float over_heads(const ScoreJob& job, std::size_t t) {
    if (job.args->heads == ScoreArgs::Heads::max) return job.largest[t];
    const std::size_t n_group = job.args->lane.n_group;
    double sum = 0;
    for (std::size_t h = 0; h < n_group; ++h)
      sum += static_cast<double>(job.largest[h * kTileTokens + t]);
    return static_cast<float>(sum / static_cast<double>(n_group));
  }

  SATCHEL_INLINE void reduce(const ScoreJob& job, const double* sums) {
    const ScoreArgs& args = *job.args;
    const TileTokens& tokens = job.tile.tokens;
    for (std::size_t t = 0; t < tokens.n_tokens; ++t) {
      if (tokens.live != nullptr && ((tokens.live[t / 64] >> (t % 64)) & 1) == 0) continue;
      if (args.queries == ScoreArgs::Queries::sum) {
        job.scores[t] += static_cast<float>(sums[t] / static_cast<double>(args.lane.n_group));
      } else if (const float found = over_heads(job, t); found > job.scores[t]) {
        job.scores[t] = found;
      }
    }
  }

  static void run(const ScoreJob& job) {
    const LaneQueries& lane = job.args->lane;
    alignas(64) double sums[kTileTokens] = {};
    for (std::size_t i = 0; i < n_largest(job); ++i) job.largest[i] = -__builtin_inff();
    const std::int32_t* const positions = job.tile.tokens.positions;
    const Reach keys{positions[0], positions[job.tile.tokens.n_tokens - 1]};
    const IndexRange tokens =
        range_of(lane.batch.positions, lane.batch.n_tokens, queries_that_see(lane, keys));
    if (tokens.begin >= tokens.end) return;
    const std::size_t skipped = tokens.begin * lane.n_group;
    for_row_tiles<V>(
        tokens.end * lane.n_group - skipped, [&](auto n, std::size_t first)
                                                 __attribute__((always_inline)) {
                                                   rows<n.value>(job, skipped + first, sums);
                                                 });
    if (job.args->weights == nullptr) exponentiate(job);
    reduce(job, sums);
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
