// Cuts an attention call into pieces (attend_plan.h), gives them to the threads, merges.
//   few rows   decode: packed pages by integers on the codes, exact tokens as fp16; spans of a lane
//              run side by side
//   many rows  a prompt: each piece makes fp32 tiles of 128 tokens and runs its block of rows on them
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/assert.h"
#include "kernels/cpu/attend_packed.h"
#include "kernels/cpu/attend_plan.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/cache_ops.h"

namespace satchel::kernels::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// What a piece leaves for merging: most, total, sum of each row.
struct Partial {
  float* most = nullptr;
  float* total = nullptr;
  float* sum = nullptr;
};

std::size_t round_up(std::size_t n) {
  return (n + kWidthStep - 1) / kWidthStep * kWidthStep;
}

// Slices of one allocation, in floats.
struct Slices {
  std::size_t block_rows, rows, planes, positions, tile_k, tile_v, of_thread, state, of_piece;

  Slices(const AttendPlan& plan, std::size_t head_dim)
      : block_rows(std::min(plan.n_rows, AttendPlan::kBlockRows)),
        rows(round_up(block_rows * head_dim)),
        planes(plan.few ? rows : 0),
        positions(round_up(block_rows)),
        tile_k(head_dim * kTileTokens),
        tile_v(kTileTokens * plan.width),
        of_thread(rows + planes + positions + tile_k + tile_v),
        state(round_up(block_rows)),
        of_piece(2 * state + block_rows * plan.width) {}
};

class Attend {
 public:
  Attend(const CpuContext& context, const AttendArgs& args, const AttendPlan& plan,
         const Slices& slices, float* memory)
      : context_(context),
        args_(args),
        plan_(plan),
        slices_(slices),
        threads_(memory),
        partials_(memory + context.pool.n_threads() * slices.of_thread),
        table_(attend_table(context.level)) {}

  void run() {
    const std::size_t n_lanes = args_.lanes.size();
    context_.pool.parallel_for(plan_.n_pieces(n_lanes), 1,
                               [this](std::size_t begin, std::size_t end, std::size_t thread) {
                                 for (std::size_t i = begin; i < end; ++i) piece(i, thread);
                               });
    if (plan_.n_spans == 1) return;
    for (std::size_t i = 0; i < n_lanes * plan_.n_blocks; ++i) merge(i);
  }

 private:
  static const AttendTable& attend_table(CpuLevel level) {
    if (level == CpuLevel::avx2) return kAttendAvx2;
    return level == CpuLevel::avx512 ? kAttendAvx512 : kAttendAvx512Vnni;
  }

  // Partial results of a span; with one span they need not outlive the piece.
  Partial partial(std::size_t lane_block, std::size_t span, std::size_t thread) const {
    const std::size_t index = plan_.n_spans == 1 ? thread : lane_block * plan_.n_spans + span;
    float* at = partials_ + index * slices_.of_piece;
    return {.most = at, .total = at + slices_.state, .sum = at + 2 * slices_.state};
  }
  std::size_t first_row(std::size_t lane_block) const {
    return lane_block % plan_.n_blocks * slices_.block_rows;
  }
  std::size_t n_rows(std::size_t lane_block) const {
    return std::min(slices_.block_rows, plan_.n_rows - first_row(lane_block));
  }
  // Row r of a lane is head r % n_group of the lane, of query token r / n_group.
  std::size_t query_of(std::size_t lane, std::size_t row) const {
    return row / plan_.n_group * args_.n_heads + lane * plan_.n_group + row % plan_.n_group;
  }

  void piece(std::size_t index, std::size_t thread) {
    const std::size_t lane_block = index / plan_.n_spans, span = index % plan_.n_spans;
    const std::size_t lane = lane_block / plan_.n_blocks, n = n_rows(lane_block);
    const Partial out = partial(lane_block, span, thread);
    std::fill_n(out.most, n, kNone);
    std::fill_n(out.total, n, 0.0f);
    std::fill_n(out.sum, n * plan_.width, 0.0f);

    float* memory = threads_ + thread * slices_.of_thread;
    const LaneRows rows = load_rows(lane, first_row(lane_block), n, out, memory);
    float* tile = memory + slices_.rows + slices_.planes + slices_.positions;
    const KeyTile room{.k = tile, .v = tile + slices_.tile_k};
    const LaneView& view = args_.lanes[lane];
    const std::size_t segments = n_segments(view);
    visit(view, segments * span / plan_.n_spans, segments * (span + 1) / plan_.n_spans, rows, room);
    if (plan_.n_spans == 1) finish(lane, first_row(lane_block), n, out);
  }

  LaneRows load_rows(std::size_t lane, std::size_t first, std::size_t n, const Partial& out,
                     float* memory) const {
    const std::size_t d = args_.head_dim;
    float* q = memory;
    float* planes = memory + slices_.rows;
    auto* positions = reinterpret_cast<std::int32_t*>(memory + slices_.rows + slices_.planes);
    const bool packed = plan_.few && has_packed_kernel(d) && !args_.lanes[lane].pages.empty();
    for (std::size_t r = 0; r < n; ++r) {
      const float* from = args_.q + query_of(lane, first + r) * d;
      for (std::size_t c = 0; c < d; ++c) q[r * d + c] = from[c] * args_.scale;
      if (packed) to_planes(q + r * d, d, planes + r * d);
      positions[r] = args_.positions[(first + r) / plan_.n_group];
    }
    return {.q = q,
            .q_planes = packed ? planes : nullptr,
            .positions = positions,
            .n_rows = n,
            .head_dim = d,
            .width = plan_.width,
            .most = out.most,
            .total = out.total,
            .sum = out.sum};
  }
  static bool has_packed_kernel(std::size_t d) { return d == 64 || d == 128 || d == 256; }

  // Segments begin … end - 1 of a lane: pages first, then the runs.
  void visit(const LaneView& lane, std::size_t begin, std::size_t end, const LaneRows& rows,
             const KeyTile& room) const {
    const std::size_t n_pages = lane.pages.size();
    for (std::size_t i = begin; i < std::min(end, n_pages); ++i)
      page(lane.pages[i], i + 1 < n_pages ? &lane.pages[i + 1] : nullptr, rows, room);
    std::size_t segment = n_pages;
    for (const ExactRun& run : lane.runs) {
      for (std::size_t t = 0; t < run.n_tokens; t += kTileTokens, ++segment) {
        if (segment < begin || segment >= end) continue;
        exact({.k = run.k + t * args_.head_dim,
               .v = run.v + t * args_.head_dim,
               .positions = run.positions + t,
               .n_tokens = std::min(kTileTokens, run.n_tokens - t)},
              rows, room);
      }
    }
  }

  void page(const PageView& view, const PageView* after, const LaneRows& rows,
            const KeyTile& room) const {
    const PageLayout& layout = *view.layout;
    SATCHEL_ASSERT(layout.head_dim == args_.head_dim);
    const auto* positions = reinterpret_cast<const std::int32_t*>(view.bytes + layout.positions_at);
    if (layout.form == PageForm::exact16) {
      exact({.k = reinterpret_cast<const Half*>(view.bytes + layout.k_codes_at),
             .v = reinterpret_cast<const Half*>(view.bytes + layout.v_codes_at),
             .positions = positions,
             .n_tokens = kPageTokens},
            rows, room);
      return;
    }
    if (!anyone_sees(view.first_position, rows)) return;
    if (rows.q_planes != nullptr && layout.k_bits == 2 && layout.v_bits == 2) {
      const bool alike = after != nullptr && after->layout->bytes == layout.bytes;
      table_.packed_page(rows, view, alike ? after->bytes : nullptr);
      return;
    }
    KeyTile tile = room;
    tile.positions = positions;
    tile.n_tokens = kPageTokens;
    table_.fill_affine(layout, view.bytes, tile);
    table_.tile(rows, tile);
  }

  void exact(const ExactRun& run, const LaneRows& rows, const KeyTile& room) const {
    if (!anyone_sees(run.positions[0], rows)) return;
    if (plan_.few && args_.head_dim % kWidthStep == 0) {
      table_.exact_tokens(rows, run);
      return;
    }
    KeyTile tile = room;
    tile.positions = run.positions;
    tile.n_tokens = run.n_tokens;
    table_.fill_exact(run, args_.head_dim, tile);
    table_.tile(rows, tile);
  }

  static bool anyone_sees(std::int32_t first_position, const LaneRows& rows) {
    return std::any_of(rows.positions, rows.positions + rows.n_rows,
                       [&](std::int32_t position) { return first_position <= position; });
  }

  void merge(std::size_t lane_block) const {
    const std::size_t n = n_rows(lane_block);
    const Partial into = partial(lane_block, 0, 0);
    for (std::size_t span = 1; span < plan_.n_spans; ++span) {
      const Partial from = partial(lane_block, span, 0);
      for (std::size_t r = 0; r < n; ++r) merge_row(into, from, r);
    }
    finish(lane_block / plan_.n_blocks, first_row(lane_block), n, into);
  }

  void merge_row(const Partial& into, const Partial& from, std::size_t r) const {
    if (from.most[r] == kNone) return;
    const float most = std::max(into.most[r], from.most[r]);
    const float keep = into.most[r] == kNone ? 0 : std::exp(into.most[r] - most);
    const float take = std::exp(from.most[r] - most);
    into.most[r] = most;
    into.total[r] = into.total[r] * keep + from.total[r] * take;
    for (std::size_t c = r * plan_.width; c < r * plan_.width + args_.head_dim; ++c)
      into.sum[c] = into.sum[c] * keep + from.sum[c] * take;
  }

  void finish(std::size_t lane, std::size_t first, std::size_t n, const Partial& from) const {
    for (std::size_t r = 0; r < n; ++r) {
      const std::size_t query = query_of(lane, first + r);
      const float total = from.total[r], share = total > 0 ? 1 / total : 0;
      for (std::size_t c = 0; c < args_.head_dim; ++c)
        args_.out[query * args_.head_dim + c] = from.sum[r * plan_.width + c] * share;
      if (args_.lse != nullptr)
        args_.lse[query] = total > 0 ? from.most[r] + std::log(total) : kNone;
    }
  }

  const CpuContext& context_;
  const AttendArgs& args_;
  const AttendPlan& plan_;
  const Slices& slices_;
  float* threads_;
  float* partials_;
  const AttendTable& table_;
};

}  // namespace

Result<void> attend(const CpuContext& context, AttendScratch& scratch, const AttendArgs& args) {
  SATCHEL_ASSERT(args.positions.size() == args.n_tokens);
  SATCHEL_ASSERT(!args.lanes.empty() && args.n_heads % args.lanes.size() == 0);
  SATCHEL_ASSERT(args.head_dim > 0 && args.head_dim <= 256);
  if (args.n_tokens == 0) return {};
  const AttendPlan plan = plan_attend(args);
  const Slices slices(plan, args.head_dim);
  const std::size_t n_partials =
      plan.n_spans == 1 ? context.pool.n_threads() : plan.n_pieces(args.lanes.size());
  SATCHEL_TRY_ASSIGN(float* const memory, scratch.take(context.pool.n_threads() * slices.of_thread +
                                                       n_partials * slices.of_piece));
  Attend(context, args, plan, slices, memory).run();
  return {};
}

}  // namespace satchel::kernels::cpu
