// The logsumexp of rows of the attention matrix: blocks of query rows over the threads; one thread
// takes a block through all keys of its lane.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/attention/key_mask.h"
#include "kernels/cpu/attention/tile_fill.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

// Each block rotates every key that it sees once. Measured 2026-11-22 (AVX-512, head_dim 64):
// blocks of 96 rows take a tenth longer, blocks of 384 are no faster beyond the noise. Whole tiles
// of rows on every level.
constexpr std::size_t kBlockRows = 192;
constexpr float kNothing = -std::numeric_limits<float>::infinity();

std::size_t n_rows(const LaneQueries& lane) {
  return lane.batch.n_tokens * lane.n_group;
}
std::size_t n_blocks(const LaneQueries& lane) {
  return (n_rows(lane) + kBlockRows - 1) / kBlockRows;
}

// The workspace of one thread, in floats.
struct ThreadMemory {
  std::size_t tile = 0, plain = 0, q = 0;

  explicit ThreadMemory(std::span<const LogSumExpArgs> items) {
    for (const LogSumExpArgs& args : items) {
      tile = std::max(tile, args.lane.head_dim * kTileTokens);
      q = std::max(q, args.lane.head_dim * std::min(kBlockRows, n_rows(args.lane)));
      if (!args.lane.keys.pages.empty()) plain = tile;
    }
  }
  std::size_t of_thread() const { return tile + plain + q; }
};

class Block {
 public:
  Block(const KernelTable& kernels, const LogSumExpArgs& args, const ThreadMemory& layout,
        float* memory)
      : kernels_(kernels), args_(args), lane_(args.lane), plain_(memory + layout.tile) {
    tile_.k = memory;
    q_ = plain_ + layout.plain;
  }

  void run(std::size_t block) {
    load(block * kBlockRows);
    for (const ExactRun& keys : lane_.keys.runs) run_of(keys);
    for (const PageView& page : lane_.keys.pages) page_of(page);
    for (std::size_t r = 0; r < rows_.n_rows; ++r) add_to_lse(r);
  }

 private:
  // Row r is head first_head + r % n_group of token r / n_group.
  std::size_t query_of(std::size_t row) const {
    return row / lane_.n_group * lane_.n_heads + lane_.first_head + row % lane_.n_group;
  }

  void load(std::size_t first_row) {
    const std::size_t d = lane_.head_dim;
    first_row_ = first_row;
    rows_ = {.lane = &lane_,
             .q = q_,
             .positions = positions_.data(),
             .n_rows = std::min(kBlockRows, n_rows(lane_) - first_row),
             .offset = offset_.data(),
             .totals = totals_.data()};
    for (std::size_t r = 0; r < rows_.n_rows; ++r) {
      positions_[r] = lane_.batch.positions[(first_row + r) / lane_.n_group];
      std::memcpy(q_ + r * d, lane_.q + query_of(first_row + r) * d, d * sizeof(float));
    }
    kernels_.vector_ops.scale(q_, lane_.scale, rows_.n_rows * d);
    offset_.fill(kNothing);
    totals_.fill(0);
  }

  // The positions that any row of the block sees; both ends rise with the query's position.
  Reach reach() const {
    return {keys_seen_from(lane_, positions_[0]).first,
            keys_seen_from(lane_, positions_[rows_.n_rows - 1]).last};
  }

  void run_of(const ExactRun& keys) {
    const IndexRange seen = range_of(keys.positions, keys.n_tokens, reach());
    const std::size_t d = lane_.head_dim;
    for (std::size_t t = seen.begin; t < seen.end; t += kTileTokens) {
      const std::size_t n = std::min(kTileTokens, seen.end - t);
      kernels_.attend.exact_keys(keys.k + t * d, n, d, tile_.k);
      tile_.tokens = {.positions = keys.positions + t, .n_tokens = n};
      kernels_.logsumexp_tile(rows_, tile_);
    }
  }

  void page_of(const PageView& page) {
    const Reach seen = reach();
    if (page.live.count() == 0 || page.last_position < seen.first ||
        page.first_position > seen.last)
      return;
    std::array<std::int32_t, kPageTokens> positions;
    tile_.tokens =
        fill_placed_keys(kernels_.attend, page, lane_.rope, tile_.k, positions.data(), plain_);
    kernels_.logsumexp_tile(rows_, tile_);
  }

  void add_to_lse(std::size_t r) const {
    if (offset_[r] == kNothing) return;
    double total = 0;
    for (std::size_t i = 0; i < kLogSumExpWidth; ++i)
      total += static_cast<double>(totals_[r * kLogSumExpWidth + i]);
    float& lse = args_.lse[query_of(first_row_ + r)];
    const double found = static_cast<double>(offset_[r]) + std::log(total);
    const auto held = static_cast<double>(lse);
    const double most = std::max(held, found), least = std::min(held, found);
    lse = static_cast<float>(most + std::log1p(std::exp(least - most)));
  }

  const KernelTable& kernels_;
  const LogSumExpArgs& args_;
  const LaneQueries& lane_;
  KeyTile tile_;
  float *plain_, *q_;
  std::size_t first_row_ = 0;
  LogSumExpRows rows_;
  std::array<std::int32_t, kBlockRows> positions_;
  std::array<float, kBlockRows> offset_;
  alignas(64) std::array<float, kBlockRows * kLogSumExpWidth> totals_;
};

}  // namespace

Result<void> CpuBackend::logsumexp(std::span<const LogSumExpArgs> items) {
  std::size_t n = 0;
  for (const LogSumExpArgs& args : items) {
    args.lane.check();
    n += n_blocks(args.lane);
  }
  const ThreadMemory layout(items);
  SATCHEL_TRY_ASSIGN(float* const memory,
                     scratch_.take(context_.pool.n_threads() * layout.of_thread()));
  context_.pool.parallel_for(n, 1, [&](std::size_t begin, std::size_t, std::size_t thread) {
    std::size_t item = 0;
    for (; begin >= n_blocks(items[item].lane); ++item) begin -= n_blocks(items[item].lane);
    Block(context_.kernels, items[item], layout, memory + thread * layout.of_thread()).run(begin);
  });
  return {};
}

}  // namespace satchel::kernels::cpu
