// Columns of the attention matrix: tiles of keys over the threads, each reduced by one of them. Keys
// of a page are turned and moved to where they stand once for all queries.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/contract/turn.h"
#include "kernels/cpu/cache_ops.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/tile_fill.h"

namespace satchel::kernels::cpu {
namespace {

// Half a tile: the first keys are seen by all queries and the last by few, so that whole tiles would
// leave threads idle at the end. Pages are past: all queries see all of them.
constexpr std::size_t kScoreKeys = 64;

std::size_t n_pieces(const ExactRun& run) {
  return (run.n_tokens + kScoreKeys - 1) / kScoreKeys;
}
std::size_t n_pieces(const LaneView& keys) {
  std::size_t n = keys.pages.size();
  for (const ExactRun& run : keys.runs) n += n_pieces(run);
  return n;
}

// turn_rows() for keys that lie transposed: row c of the tile is channel c of all tokens.
void turn_channels(Turn turn, float* tile, std::size_t head_dim) {
  if (turn == Turn::none) return;
  const std::size_t n = turn_block(head_dim);
  const auto norm = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    for (std::size_t c = 0; c < head_dim; ++c) {
      if (c % (2 * distance) >= distance) continue;
      float *first = tile + c * kTileTokens, *second = tile + (c + distance) * kTileTokens;
      for (std::size_t t = 0; t < kTileTokens; ++t) {
        const float a = first[t], b = second[t];
        first[t] = a + b;
        second[t] = a - b;
      }
    }
  }
  for (std::size_t i = 0; i < head_dim * kTileTokens; ++i) tile[i] *= norm;
}

// As if the keys had been encoded `shift` positions later.
void rotate_channels(const RopeTable& rope, std::int32_t shift, float* tile) {
  const std::size_t n_pairs = rope.inverse_frequency.size();
  const bool adjacent = rope.pairs == RopePairs::adjacent;
  for (std::size_t i = 0; i < n_pairs && shift != 0; ++i) {
    const double phase = static_cast<double>(shift) * rope.inverse_frequency[i];
    const auto cosine = static_cast<float>(std::cos(phase));
    const auto sine = static_cast<float>(std::sin(phase));
    float* first = tile + (adjacent ? 2 * i : i) * kTileTokens;
    float* second = tile + (adjacent ? 2 * i + 1 : i + n_pairs) * kTileTokens;
    for (std::size_t t = 0; t < kTileTokens; ++t) {
      const float a = first[t], b = second[t];
      first[t] = a * cosine - b * sine;
      second[t] = a * sine + b * cosine;
    }
  }
}

// What one thread works in, in floats.
struct Slices {
  std::size_t tile, plain, rows, largest;

  explicit Slices(std::span<const ScoreArgs> items) : tile(0), plain(0), rows(0), largest(0) {
    for (const ScoreArgs& args : items) {
      tile = std::max(tile, args.head_dim * kTileTokens);
      rows = std::max(rows, args.head_dim * kScoreRowsMax);
      if (!args.keys.pages.empty()) plain = tile;
      if (args.queries == ScoreArgs::Queries::max)
        largest = std::max(largest, args.n_group * kTileTokens);
    }
  }
  std::size_t of_thread() const { return tile + plain + rows + largest; }
};

class Piece {
 public:
  Piece(const KernelTable& kernels, const Slices& slices, float* memory)
      : kernels_(kernels), tile_(memory), plain_(tile_ + slices.tile) {
    job_.tile.k = tile_;
    job_.rows = plain_ + slices.plain;
    job_.largest = job_.rows + slices.rows;
  }

  // Piece `index` of the lane's: half tiles of the runs, then pages.
  void score(const ScoreArgs& args, std::size_t index) {
    job_.args = &args;
    job_.scores = args.scores;
    for (const ExactRun& run : args.keys.runs) {
      if (index < n_pieces(run)) return exact(run, index * kScoreKeys);
      index -= n_pieces(run);
      job_.scores += run.n_tokens;
    }
    for (std::size_t p = 0; p < index; ++p) job_.scores += args.keys.pages[p].n_tokens;
    page(args.keys.pages[index]);
  }

 private:
  void exact(const ExactRun& run, std::size_t first) {
    const std::size_t d = job_.args->head_dim;
    job_.n_tokens = std::min(kScoreKeys, run.n_tokens - first);
    job_.positions = run.positions + first;
    job_.live = nullptr;
    job_.scores += first;
    kernels_.attend.exact_keys(run.k + first * d, job_.n_tokens, d, tile_);
    kernels_.score.run(job_);
  }

  void page(const PageView& view) {
    const ScoreArgs& args = *job_.args;
    SATCHEL_ASSERT(view.layout->head_dim == args.head_dim);
    if (view.n_tokens == 0) return;
    const auto* positions =
        reinterpret_cast<const std::int32_t*>(view.bytes + view.layout->positions_at);
    std::array<std::int32_t, kPageTokens> shifted;
    for (std::size_t t = 0; t < view.n_tokens; ++t) shifted[t] = positions[t] + view.shift;
    job_.n_tokens = view.n_tokens;
    job_.positions = shifted.data();
    job_.live = &view.live;
    fill_keys(kernels_.attend, view, tile_, plain_);
    turn_channels(view.layout->k.turn, tile_, args.head_dim);
    rotate_channels(args.rope, view.shift, tile_);
    kernels_.score.run(job_);
  }

  const KernelTable& kernels_;
  float *tile_, *plain_;
  ScoreJob job_;
};

}  // namespace

Result<void> score(const CpuContext& context, AttendScratch& scratch,
                   std::span<const ScoreArgs> items) {
  std::size_t n = 0;
  for (const ScoreArgs& args : items) {
    SATCHEL_ASSERT(args.n_group > 0 && args.first_head + args.n_group <= args.n_heads);
    SATCHEL_ASSERT(args.heads == ScoreArgs::Heads::mean || args.queries == ScoreArgs::Queries::max);
    n += n_pieces(args.keys);
  }
  const Slices slices(items);
  SATCHEL_TRY_ASSIGN(float* const memory,
                     scratch.take(context.pool.n_threads() * slices.of_thread()));
  context.pool.parallel_for(n, 1, [&](std::size_t begin, std::size_t, std::size_t thread) {
    std::size_t item = 0;
    for (; begin >= n_pieces(items[item].keys); ++item) begin -= n_pieces(items[item].keys);
    Piece(context.kernels, slices, memory + thread * slices.of_thread()).score(items[item], begin);
  });
  return {};
}

}  // namespace satchel::kernels::cpu
