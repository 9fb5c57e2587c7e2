#include "kernels/cpu/attend_piece.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/contract/graded.h"
#include "kernels/contract/plane_halves.h"
#include "kernels/contract/turn.h"
#include "kernels/cpu/attend_packed.h"
#include "kernels/cpu/tile_fill.h"

namespace satchel::kernels::cpu {
namespace {

PackedTile packed_tile(const PageView& page, const PageView* after) {
  const PageLayout& layout = *page.layout;
  const bool alike = after != nullptr && after->layout->bytes == layout.bytes;
  const bool is_graded = layout.k.is_graded();
  return {
      .k = is_graded ? AffinePlanes{.group = layout.capacity} : affine_planes(layout.k, page.bytes),
      .v = affine_planes(layout.v, page.bytes),
      .graded_k = is_graded ? graded_planes(layout.k, page.bytes) : GradedPlanes{},
      .capacity = layout.capacity,
      .tokens = tokens_of(page),
      .next = alike ? after->bytes : nullptr,
      .next_bytes = layout.bytes};
}

}  // namespace

std::size_t PieceMemory::floats(const AttendPlan& plan, std::size_t head_dim) {
  const std::size_t n = plan.most_block_rows;
  return 2 * Partial::state_floats(n * head_dim) +
         2 * Partial::state_floats(plan.most_few_rows * head_dim) + Partial::state_floats(n) +
         (head_dim + plan.width) * kTileTokens + 2 * Partial::floats(n, plan.width);
}

PieceMemory PieceMemory::in(float* memory, const AttendPlan& plan, std::size_t head_dim) {
  const auto take = [&memory](std::size_t n_floats) {
    float* at = memory;
    memory += n_floats;
    return at;
  };
  const std::size_t n = plan.most_block_rows;
  const std::size_t rows = Partial::state_floats(n * head_dim);
  const std::size_t few_rows = Partial::state_floats(plan.most_few_rows * head_dim);
  PieceMemory out;
  out.q = take(rows);
  out.turned_q = take(rows);
  out.q_slots = take(few_rows);
  out.turned_slots = take(few_rows);
  out.positions = reinterpret_cast<std::int32_t*>(take(Partial::state_floats(n)));
  out.tile_k = take(head_dim * kTileTokens);
  out.tile_v = take(plan.width * kTileTokens);
  out.own = Partial::in(take(Partial::floats(n, plan.width)), n);
  out.turned_v = Partial::in(take(Partial::floats(n, plan.width)), n);
  return out;
}

std::size_t query_of(const AttendArgs& args, const AttendPlan& plan, const PieceRange& range,
                     std::size_t row) {
  const std::size_t token = range.sequence->first_token + row / plan.n_group;
  return token * args.n_heads + range.lane * plan.n_group + row % plan.n_group;
}

AttendPiece::AttendPiece(const AttendTable& table, const AttendArgs& args, const AttendPlan& plan,
                         const PieceRange& range, const PieceMemory& memory, const Partial& out)
    : table_(table),
      args_(args),
      plan_(plan),
      range_(range),
      memory_(memory),
      out_(out),
      lane_(range.sequence->lane(range.lane)) {
  out_.clear(range_.n_rows, plan_.width);
  load_rows();
}

void AttendPiece::run(std::size_t begin, std::size_t end) {
  const std::size_t n_pages = lane_.pages.size();
  for (std::size_t i = begin; i < std::min(end, n_pages); ++i)
    page(lane_.pages[i], i + 1 < n_pages ? &lane_.pages[i + 1] : nullptr);
  std::size_t segment = n_pages;
  for (const ExactRun& run : lane_.runs) {
    for (std::size_t t = 0; t < run.n_tokens; t += kTileTokens, ++segment) {
      if (segment < begin || segment >= end) continue;
      run_tile({.k = run.k + t * args_.head_dim,
                .v = run.v + t * args_.head_dim,
                .tokens = {.positions = run.positions + t,
                           .n_tokens = std::min(kTileTokens, run.n_tokens - t)}});
    }
  }
  merge_turned();
}

void AttendPiece::load_rows() {
  const std::size_t d = args_.head_dim;
  const float scale = args_.scale;  // else the compiler takes it for one of those that are written
  for (std::size_t r = 0; r < range_.n_rows; ++r) {
    const std::size_t row = range_.first_row + r;
    const float* from = args_.q + query_of(args_, plan_, range_, row) * d;
    float* const to = memory_.q + r * d;
    for (std::size_t c = 0; c < d; ++c) to[c] = from[c] * scale;
    memory_.positions[r] =
        args_.batch.positions[range_.sequence->first_token + row / plan_.n_group];
  }
  rows_ = {.q = memory_.q,
           .positions = memory_.positions,
           .n_rows = range_.n_rows,
           .head_dim = d,
           .width = plan_.width,
           .window = args_.window,
           .soft_cap = args_.soft_cap,
           .most = out_.most,
           .total = out_.total,
           .sum = out_.sum};
}

void AttendPiece::page(const PageView& view, const PageView* after) {
  const PageLayout& layout = *view.layout;
  SATCHEL_ASSERT(layout.head_dim == args_.head_dim && view.n_tokens <= layout.capacity);
  if ((view.live.words[0] | view.live.words[1]) == 0) return;
  if (!anyone_sees(view.first_position, view.last_position)) return;
  LaneRows rows = rows_for(view);
  if (layout.k.is_exact() && layout.v.is_exact()) {
    exact({.k = halves(view.bytes, layout.k.planes[0]),
           .v = halves(view.bytes, layout.v.planes[0]),
           .tokens = tokens_of(view)},
          rows);
    return;
  }
  if (range_.sequence->few && packed_fits(layout)) {
    PackedTile tile = packed_tile(view, after);
    if (layout.k.is_graded())
      tile.graded_k.parts = &parts_of(layout);
    else
      rows.q_slots = slots_of(rows.q);
    table_.packed_tokens(rows, tile);
    return;
  }
  fill_keys(table_, view, memory_.tile_k, memory_.tile_v);
  fill_values(table_, view, memory_.tile_v);
  table_.tile(rows, {.k = memory_.tile_k, .v = memory_.tile_v, .tokens = tokens_of(view)});
}

void AttendPiece::run_tile(const ExactTile& tile) {
  const TileTokens& tokens = tile.tokens;
  if (anyone_sees(tokens.positions[0], tokens.positions[tokens.n_tokens - 1])) exact(tile, rows_);
}

void AttendPiece::exact(const ExactTile& tile, const LaneRows& rows) {
  const std::size_t d = args_.head_dim, n = tile.tokens.n_tokens;
  if (range_.sequence->few && d % kWidthStep == 0) {
    table_.exact_tokens(rows, tile);
    return;
  }
  table_.exact_keys(tile.k, n, d, memory_.tile_k);
  table_.exact_values(tile.v, n, d, memory_.tile_v);
  table_.tile(rows, {.k = memory_.tile_k, .v = memory_.tile_v, .tokens = tile.tokens});
}

LaneRows AttendPiece::rows_for(const PageView& page) {
  LaneRows rows = rows_;
  if (const QueryTurn turn = turn_for(page); !turn.is_none()) {
    turn_rows_for(turn);
    rows.q = memory_.turned_q;
  }
  if (page.layout->v.turn == Turn::none) return rows;
  if (!any_turned_v_) memory_.turned_v.clear(range_.n_rows, plan_.width);
  any_turned_v_ = true;
  rows.most = memory_.turned_v.most;
  rows.total = memory_.turned_v.total;
  rows.sum = memory_.turned_v.sum;
  return rows;
}

// Pages of a frame, and what was moved together, lie together: the last turn is mostly the one wanted.
void AttendPiece::turn_rows_for(const QueryTurn& turn) {
  if (turned_for_ == turn) return;
  turned_for_ = turn;
  const std::size_t n = range_.n_rows, d = args_.head_dim;
  std::memcpy(memory_.turned_q, memory_.q, n * d * sizeof(float));
  turn_query(table_, turn, args_.rope, memory_.turned_q, n, d);
  has_turned_slots_ = false;
}

// Made when the first page wants them.
const float* AttendPiece::slots_of(const float* q) {
  const bool turned = q == memory_.turned_q;
  float* const slots = turned ? memory_.turned_slots : memory_.q_slots;
  bool& made = turned ? has_turned_slots_ : has_slots_;
  if (made) return slots;
  made = true;
  const std::size_t d = args_.head_dim;
  for (std::size_t r = 0; r < range_.n_rows; ++r) to_slots(q + r * d, d, slots + r * d);
  return slots;
}

// A lane's pages mostly have one layout.
const KeyParts& AttendPiece::parts_of(const PageLayout& layout) {
  if (parts_layout_ == &layout) return parts_;
  parts_layout_ = &layout;
  for (auto& of_part : parts_.weights) std::fill_n(of_part, layout.head_dim, 0.0f);
  parts_.n_parts = 0;
  std::fill_n(parts_.n_of_bits, kGradedParts, 0);
  std::size_t part = 0;
  for_each_part(layout.k, layout.head_dim, layout.capacity,
                [&](std::size_t first, unsigned below, unsigned bits, std::size_t at) {
                  part = below + bits == layout.k.quad_bits[first / kQuad] ? 0 : part + 1;
                  std::fill_n(parts_.weights[part] + first, kQuad, static_cast<float>(1u << below));
                  parts_.n_parts = std::max(parts_.n_parts, part + 1);
                  const std::size_t kind = bits == 4 ? 0 : bits == 2 ? 1 : 2;
                  parts_.of_bits[kind][parts_.n_of_bits[kind]++] = {
                      .at = static_cast<std::uint16_t>(at / kPartStep),
                      .part = static_cast<std::uint8_t>(part),
                      .quad = static_cast<std::uint8_t>(first / kQuad)};
                });
  return parts_;
}

void AttendPiece::merge_turned() {
  if (!any_turned_v_) return;
  // Rows of a page's head_dim have no padding.
  table_.turn_hadamard(memory_.turned_v.sum, range_.n_rows, args_.head_dim);
  out_.merge(memory_.turned_v, range_.n_rows, plan_.width);
}

// Positions rise from row to row.
bool AttendPiece::anyone_sees(std::int64_t first_position, std::int64_t last_position) const {
  const std::int64_t first = memory_.positions[0], last = memory_.positions[range_.n_rows - 1];
  return first_position <= last &&
         (args_.window == 0 || last_position > first - static_cast<std::int64_t>(args_.window));
}

}  // namespace satchel::kernels::cpu
