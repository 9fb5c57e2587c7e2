// Columns of the attention matrix for one tile of keys: keys stay, query rows stream by with the
// log-sum-exp that attend() gave. Rows are taken in rising order whatever the threads do.
#pragma once

#include "kernels/cpu/attend_tile_kernel.h"
#include "kernels/cpu/score_table.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/vector_ops_kernel.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct ScoreTile {
  using Float = typename V::Float;

  // Up to kRows query rows: which keys [low, high) each sees, and what its exponentials want.
  template <std::size_t kRows>
  struct Rows {
    std::size_t low[kRows], high[kRows], most = 0;
    float lse[kRows], weight[kRows];
  };

  // Row r is head first_head + r % n_group of token r / n_group.
  template <std::size_t kRows>
  SATCHEL_INLINE void load(const ScoreJob& job, std::size_t first, Rows<kRows>& rows) {
    const ScoreArgs& args = *job.args;
    const std::size_t d = args.head_dim;
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t token = (first + r) / args.n_group;
      const std::size_t query = token * args.n_heads + args.first_head + (first + r) % args.n_group;
      const std::int64_t position = args.batch.positions[token];
      rows.high[r] =
          args.is_causal ? visible_tokens(job.positions, job.n_tokens, position) : job.n_tokens;
      rows.low[r] = args.window == 0
                        ? 0
                        : visible_tokens(job.positions, job.n_tokens,
                                         position - static_cast<std::int64_t>(args.window));
      if (rows.low[r] < rows.high[r] && rows.high[r] > rows.most) rows.most = rows.high[r];
      rows.lse[r] = args.lse[query];
      rows.weight[r] = args.weights == nullptr ? 1.0f : args.weights[token];
      for (std::size_t c = 0; c < d; ++c) job.rows[r * d + c] = args.q[query * d + c] * args.scale;
    }
  }

  // weight · exp(cap(logit) − lse) of kLanes keys
  SATCHEL_INLINE Float probabilities(const float* logits, float soft_cap, float lse, float weight) {
    Float x = V::load_float(logits);
    if (soft_cap > 0) {
      const Float cap = V::broadcast_float(soft_cap);
      x = V::mul(cap, VectorOps<V>::tanh(V::div(x, cap)));
    }
    return V::mul(VectorOps<V>::exp(V::sub(x, V::broadcast_float(lse))),
                  V::broadcast_float(weight));
  }
  // a for the lanes of [low, high), which starts before lane 0 or past it, else b
  SATCHEL_INLINE Float between(std::size_t t, std::size_t low, std::size_t high, Float a, Float b) {
    a = V::first_lanes(high - t, a, b);
    return low > t ? V::first_lanes(low - t, b, a) : a;
  }

  // Column sums without weights, cap or window, as most selections want them: a seventh less work.
  template <std::size_t kRows>
  SATCHEL_INLINE void sum_plainly(const Rows<kRows>& rows, const float (*logits)[kTileTokens],
                                  double* sums) {
    for (std::size_t t = 0; t < rows.most; t += V::kLanes) {
      Float added = V::zero_float();
      for (std::size_t r = 0; r < kRows; ++r) {
        if (rows.high[r] <= t) continue;
        const Float p = VectorOps<V>::exp(
            V::sub(V::load_float(logits[r] + t), V::broadcast_float(rows.lse[r])));
        added = V::add(added, V::first_lanes(rows.high[r] - t, p, V::zero_float()));
      }
      V::add_to_doubles(sums + t, added);
    }
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void reduce_rows(const ScoreJob& job, std::size_t first, const Rows<kRows>& rows,
                                  const float (*logits)[kTileTokens], double* sums) {
    const ScoreArgs& args = *job.args;
    const bool sum = args.queries == ScoreArgs::Queries::sum;
    const Float none = V::broadcast_float(sum ? 0.0f : -__builtin_inff());
    for (std::size_t t = 0; t < rows.most; t += V::kLanes) {
      Float added = V::zero_float();
      for (std::size_t r = 0; r < kRows; ++r) {
        if (rows.high[r] <= t || rows.low[r] >= t + V::kLanes) continue;
        Float p = probabilities(logits[r] + t, args.soft_cap, rows.lse[r], rows.weight[r]);
        p = between(t, rows.low[r], rows.high[r], p, none);
        if (sum) {
          added = V::add(added, p);
        } else {
          float* largest = job.largest + (first + r) % args.n_group * kTileTokens + t;
          V::store(largest, V::max(V::load_float(largest), p));
        }
      }
      if (sum) V::add_to_doubles(sums + t, added);
    }
  }

  // Rows first … first + kRows - 1 of the lane's queries, added to `sums` or taken into `largest`.
  template <std::size_t kRows>
  SATCHEL_INLINE void rows(const ScoreJob& job, std::size_t first, double* sums) {
    const ScoreArgs& args = *job.args;
    Rows<kRows> rows;
    load<kRows>(job, first, rows);
    if (rows.most == 0) return;
    alignas(64) float logits[kRows][kTileTokens];
    TileProduct<V>::template logits<kRows>(job.rows, args.head_dim, job.tile, rows.most, logits);
    const bool plain = args.queries == ScoreArgs::Queries::sum && args.weights == nullptr &&
                       args.soft_cap == 0 && args.window == 0;
    if (plain)
      sum_plainly<kRows>(rows, logits, sums);
    else
      reduce_rows<kRows>(job, first, rows, logits, sums);
  }

  // -infinity where no query sees the key.
  SATCHEL_INLINE float over_heads(const ScoreJob& job, std::size_t t) {
    const ScoreArgs& args = *job.args;
    double sum = 0;
    float most = -__builtin_inff();
    for (std::size_t h = 0; h < args.n_group; ++h) {
      const float of_head = job.largest[h * kTileTokens + t];
      most = of_head > most ? of_head : most;
      sum += static_cast<double>(of_head);
    }
    if (args.heads == ScoreArgs::Heads::max) return most;
    return static_cast<float>(sum / static_cast<double>(args.n_group));
  }

  SATCHEL_INLINE void reduce(const ScoreJob& job, const double* sums) {
    const ScoreArgs& args = *job.args;
    for (std::size_t t = 0; t < job.n_tokens; ++t) {
      if (job.live != nullptr && ((job.live->words[t / 64] >> (t % 64)) & 1) == 0) continue;
      if (args.queries == ScoreArgs::Queries::sum) {
        job.scores[t] += static_cast<float>(sums[t] / static_cast<double>(args.n_group));
      } else if (const float found = over_heads(job, t); found > job.scores[t]) {
        job.scores[t] = found;
      }
    }
  }

  static void run(const ScoreJob& job) {
    const ScoreArgs& args = *job.args;
    alignas(64) double sums[kTileTokens] = {};
    if (args.queries == ScoreArgs::Queries::max)
      for (std::size_t i = 0; i < args.n_group * kTileTokens; ++i)
        job.largest[i] = -__builtin_inff();
    std::size_t token = 0;  // queries before all keys see none of them
    while (args.is_causal && token < args.batch.n_tokens &&
           args.batch.positions[token] < job.positions[0])
      ++token;
    const std::size_t skipped = token * args.n_group;
    for_row_tiles<V>(
        args.batch.n_tokens * args.n_group - skipped, [&](auto n, std::size_t first)
                                                          __attribute__((always_inline)) {
                                                            rows<n.value>(job, skipped + first,
                                                                          sums);
                                                          });
    reduce(job, sums);
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
