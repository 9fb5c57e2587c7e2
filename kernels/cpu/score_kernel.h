// Column sums of the attention matrix for one tile of keys: keys stay, query rows stream by with the
// log-sum-exp that attend() gave. Rows are taken in rising order whatever the threads do.
#pragma once

#include "kernels/cpu/attend_softmax.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/attend_tile_kernel.h"
#include "kernels/cpu/tile_fill_kernel.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct ScoreTile {
  using Float = typename V::Float;

  // The query of row r: token r / n_group, head first_head + r % n_group.
  SATCHEL_INLINE std::size_t query_of(const ScoreArgs& args, std::size_t row) {
    return row / args.n_group * args.n_heads + args.first_head + row % args.n_group;
  }

  // Rows first … first + kRows - 1 of the lane's queries, added to `sums`.
  template <std::size_t kRows>
  SATCHEL_INLINE void rows(const ScoreJob& job, std::size_t first, double* sums) {
    const ScoreArgs& args = *job.args;
    const std::size_t d = args.head_dim;
    std::size_t visible[kRows], most = 0;
    float lse[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t query = query_of(args, first + r);
      visible[r] = visible_tokens(job.tile.positions, job.tile.n_tokens,
                                  args.positions[(first + r) / args.n_group]);
      most = visible[r] > most ? visible[r] : most;
      lse[r] = args.lse[query];
      for (std::size_t c = 0; c < d; ++c) job.rows[r * d + c] = args.q[query * d + c] * args.scale;
    }
    if (most == 0) return;
    alignas(64) float logits[kRows][kTileTokens];
    TileProduct<V>::template logits<kRows>(job.rows, d, job.tile, most, logits);
    for (std::size_t t = 0; t < most; t += V::kLanes) {
      Float added = V::zero_float();
      for (std::size_t r = 0; r < kRows; ++r) {
        if (visible[r] <= t) continue;
        const Float p =
            VectorOps<V>::exp(V::sub(V::load_float(logits[r] + t), V::broadcast_float(lse[r])));
        added = V::add(added, V::first_lanes(visible[r] - t, p, V::zero_float()));
      }
      V::add_to_doubles(sums + t, added);
    }
  }

  static void run(const ScoreJob& job) {
    const ScoreArgs& args = *job.args;
    alignas(64) double sums[kTileTokens] = {};
    TileFill<V>::keys({.k = args.keys.k, .n_tokens = job.tile.n_tokens}, args.head_dim, job.tile);
    std::size_t token = 0;  // queries before all keys see none of them
    while (token < args.n_tokens && args.positions[token] < job.tile.positions[0]) ++token;
    const std::size_t skipped = token * args.n_group;
    for_row_tiles<V>(
        args.n_tokens * args.n_group - skipped, [&](auto n, std::size_t first)
                                                    __attribute__((always_inline)) {
                                                      rows<n.value>(job, skipped + first, sums);
                                                    });
    for (std::size_t t = 0; t < job.tile.n_tokens; ++t)
      job.scores[t] += static_cast<float>(sums[t] / static_cast<double>(args.n_group));
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
