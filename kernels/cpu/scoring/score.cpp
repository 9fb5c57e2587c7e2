// Columns of the attention matrix: tiles of keys over the threads; one thread reduces a tile.
// Keys of a page are transformed back and rotated to their positions once for all queries.
#include <algorithm>
#include <array>

#include "kernels/cpu/attention/tile_fill.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

// Half a tile unless every query sees every key: in a prompt, all queries see the first keys but
// few see the last, so whole tiles would leave threads idle at the end. Pages lie in the past,
// where all queries see all keys.
std::size_t tile_keys(const LaneQueries& lane) {
  return lane.mask == AttentionMask::full ? kTileTokens : kTileTokens / 2;
}

std::size_t n_tiles(const LaneQueries& lane, const ExactRun& run) {
  return (run.n_tokens + tile_keys(lane) - 1) / tile_keys(lane);
}
std::size_t n_tiles(const LaneQueries& lane) {
  std::size_t n = lane.keys.pages.size();
  for (const ExactRun& run : lane.keys.runs) n += n_tiles(lane, run);
  return n;
}

// The workspace of one thread, in floats.
struct ThreadMemory {
  std::size_t tile, plain, rows, largest;

  explicit ThreadMemory(std::span<const ScoreArgs> items) : tile(0), plain(0), rows(0), largest(0) {
    for (const ScoreArgs& args : items) {
      tile = std::max(tile, args.lane.head_dim * kTileTokens);
      rows = std::max(rows, args.lane.head_dim * kScoreRowsMax);
      if (!args.lane.keys.pages.empty()) plain = tile;
      if (args.queries == ScoreArgs::Queries::max)
        largest = std::max(largest, args.lane.n_group * kTileTokens);
    }
  }
  std::size_t of_thread() const { return tile + plain + rows + largest; }
};

class TileScorer {
 public:
  TileScorer(const KernelTable& kernels, const ThreadMemory& layout, float* memory)
      : kernels_(kernels), plain_(memory + layout.tile) {
    job_.tile.k = memory;
    job_.rows = plain_ + layout.plain;
    job_.largest = job_.rows + layout.rows;
  }

  // Tile `index` of the lane's: parts of the runs, then pages.
  void score(const ScoreArgs& args, std::size_t index) {
    const LaneQueries& lane = args.lane;
    job_.args = &args;
    job_.scores = args.scores;
    for (const ExactRun& run : lane.keys.runs) {
      if (index < n_tiles(lane, run)) return exact(run, index * tile_keys(lane));
      index -= n_tiles(lane, run);
      job_.scores += run.n_tokens;
    }
    for (std::size_t p = 0; p < index; ++p) job_.scores += lane.keys.pages[p].n_tokens;
    page(lane.keys.pages[index]);
  }

 private:
  void exact(const ExactRun& run, std::size_t first) {
    const LaneQueries& lane = job_.args->lane;
    const std::size_t n = std::min(tile_keys(lane), run.n_tokens - first);
    job_.tile.tokens = {.positions = run.positions + first, .n_tokens = n};
    job_.scores += first;
    kernels_.attend.exact_keys(run.k + first * lane.head_dim, n, lane.head_dim, job_.tile.k);
    kernels_.score_tile(job_);
  }

  void page(const PageView& view) {
    if (view.n_tokens == 0) return;
    std::array<std::int32_t, kPageTokens> positions;
    job_.tile.tokens = fill_placed_keys(kernels_.attend, view, job_.args->lane.rope, job_.tile.k,
                                        positions.data(), plain_);
    kernels_.score_tile(job_);
  }

  const KernelTable& kernels_;
  float* plain_;
  ScoreJob job_;
};

}  // namespace

Result<void> CpuBackend::score(std::span<const ScoreArgs> items) {
  std::size_t n = 0;
  for (const ScoreArgs& args : items) {
    args.check();
    n += n_tiles(args.lane);
  }
  const ThreadMemory layout(items);
  SATCHEL_TRY_ASSIGN(float* const memory,
                     scratch_.take(context_.pool.n_threads() * layout.of_thread()));
  context_.pool.parallel_for(n, 1, [&](std::size_t begin, std::size_t, std::size_t thread) {
    std::size_t item = 0;
    for (; begin >= n_tiles(items[item].lane); ++item) begin -= n_tiles(items[item].lane);
    TileScorer(context_.kernels, layout, memory + thread * layout.of_thread())
        .score(items[item], begin);
  });
  return {};
}

}  // namespace satchel::kernels::cpu
