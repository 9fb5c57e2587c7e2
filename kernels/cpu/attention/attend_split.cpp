#include "kernels/cpu/attention/attend_split.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/contract/mixed_bit.h"
#include "kernels/contract/plane_halves.h"
#include "kernels/contract/transform.h"
#include "kernels/cpu/attention/attend_codes.h"
#include "kernels/cpu/attention/tile_fill.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

CodeTile code_tile(const PageView& page, const PageView* after) {
  const PageLayout& layout = *page.layout;
  const bool alike = after != nullptr && after->layout->bytes == layout.bytes;
  const bool is_mixed_bit = layout.k.is_mixed_bit();
  return {.k = is_mixed_bit ? AffinePlanes{.group = layout.capacity}
                            : affine_planes(layout.k, page.bytes),
          .v = affine_planes(layout.v, page.bytes),
          .mixed_bit_k = is_mixed_bit ? mixed_bit_planes(layout.k, page.bytes) : MixedBitPlanes{},
          .capacity = layout.capacity,
          .tokens = tokens_of(page),
          .next = alike ? after->bytes : nullptr,
          .next_bytes = layout.bytes};
}

}  // namespace

std::size_t SplitMemory::floats(const AttendPlan& plan, std::size_t head_dim) {
  const std::size_t n = plan.most_block_rows;
  return 2 * SoftmaxState::state_floats(n * head_dim) +
         2 * SoftmaxState::state_floats(plan.most_few_rows * head_dim) +
         SoftmaxState::state_floats(n) + (head_dim + plan.width) * kTileTokens +
         2 * SoftmaxState::floats(n, plan.width);
}

SplitMemory SplitMemory::in(float* memory, const AttendPlan& plan, std::size_t head_dim) {
  const auto take = [&memory](std::size_t n_floats) {
    float* at = memory;
    memory += n_floats;
    return at;
  };
  const std::size_t n = plan.most_block_rows;
  const std::size_t rows = SoftmaxState::state_floats(n * head_dim);
  const std::size_t few_rows = SoftmaxState::state_floats(plan.most_few_rows * head_dim);
  SplitMemory out;
  out.q = take(rows);
  out.transformed_q = take(rows);
  out.q_slots = take(few_rows);
  out.transformed_slots = take(few_rows);
  out.positions = reinterpret_cast<std::int32_t*>(take(SoftmaxState::state_floats(n)));
  out.tile_k = take(head_dim * kTileTokens);
  out.tile_v = take(plan.width * kTileTokens);
  out.own = SoftmaxState::in(take(SoftmaxState::floats(n, plan.width)), n);
  out.transformed_v = SoftmaxState::in(take(SoftmaxState::floats(n, plan.width)), n);
  return out;
}

std::size_t query_of(const AttendArgs& args, const AttendPlan& plan, const SplitRange& range,
                     std::size_t row) {
  const std::size_t token = range.sequence->first_token + row / plan.n_group;
  return token * args.n_heads + range.lane * plan.n_group + row % plan.n_group;
}

SplitRange ItemRows::of_member(std::size_t i) const {
  const SequencePlan& sequence = plan->sequences[plan->members_of(*item)[i]];
  const std::size_t first = item->block * sequence.block_rows;
  return {.sequence = &sequence,
          .lane = item->lane,
          .first_row = first,
          .n_rows = std::min(sequence.block_rows, sequence.n_rows - first)};
}

AttendSplit::AttendSplit(const CpuContext& context, const AttendArgs& args, const AttendPlan& plan,
                         const ItemRows& rows, const SplitMemory& memory, const SoftmaxState& out)
    : table_(context.kernels.attend),
      args_(args),
      plan_(plan),
      memory_(memory),
      out_(out),
      lane_(rows.of_member(0).sequence->lane(rows.item->lane)),
      few_(rows.of_member(0).sequence->few) {
  load_rows(rows);
  out_.clear(n_rows_, plan_.width);
  rows_.asks_into_l2 = context.ahead.codes.into_l2;
}

void AttendSplit::run(std::size_t begin, std::size_t end) {
  const std::size_t n_pages = lane_.pages.size();
  for (std::size_t i = begin; i < std::min(end, n_pages); ++i)
    page(lane_.pages[i], i + 1 < n_pages ? &lane_.pages[i + 1] : nullptr);
  std::size_t unit = n_pages;
  for (const ExactRun& run : lane_.runs) {
    for (std::size_t t = 0; t < run.n_tokens; t += kTileTokens, ++unit) {
      if (unit < begin || unit >= end) continue;
      run_tile({.k = run.k + t * args_.head_dim,
                .v = run.v + t * args_.head_dim,
                .tokens = {.positions = run.positions + t,
                           .n_tokens = std::min(kTileTokens, run.n_tokens - t)}});
    }
  }
  merge_transformed();
}

void AttendSplit::load_rows(const ItemRows& from) {
  for (std::size_t i = 0; i < from.n_members(); ++i) load_rows(from.of_member(i));
  const auto [first, last] = std::minmax_element(memory_.positions, memory_.positions + n_rows_);
  first_position_ = *first;
  last_position_ = *last;
  rows_ = {.q = memory_.q,
           .positions = memory_.positions,
           .n_rows = n_rows_,
           .head_dim = args_.head_dim,
           .width = plan_.width,
           .window = args_.window,
           .soft_cap = args_.soft_cap,
           .most = out_.most,
           .total = out_.total,
           .sum = out_.sum};
}

void AttendSplit::load_rows(const SplitRange& from) {
  const std::size_t d = args_.head_dim;
  const float scale = args_.scale;  // a copy, which the floats written below cannot alias
  for (std::size_t r = 0; r < from.n_rows; ++r, ++n_rows_) {
    const std::size_t row = from.first_row + r;
    const float* q = args_.q + query_of(args_, plan_, from, row) * d;
    float* const to = memory_.q + n_rows_ * d;
    for (std::size_t c = 0; c < d; ++c) to[c] = q[c] * scale;
    memory_.positions[n_rows_] =
        args_.batch.positions[from.sequence->first_token + row / plan_.n_group];
  }
}

void AttendSplit::page(const PageView& view, const PageView* after) {
  const PageLayout& layout = *view.layout;
  SATCHEL_ASSERT(layout.head_dim == args_.head_dim && view.n_tokens <= layout.capacity);
  if ((view.live.words[0] | view.live.words[1]) == 0) return;
  if (!anyone_sees(view.first_position, view.last_position)) return;
  LaneRows rows = rows_for(view);
  if (layout.is_exact()) {
    exact({.k = halves(view.bytes, layout.k.planes[0]),
           .v = halves(view.bytes, layout_of_values(layout).planes[0]),
           .tokens = tokens_of(view)},
          rows);
    return;
  }
  if (few_ && has_code_kernel(layout)) {
    CodeTile tile = code_tile(view, after);
    if (layout.k.is_mixed_bit())
      tile.mixed_bit_k.parts = &parts_of(layout);
    else
      rows.q_slots = slots_of(rows.q);
    table_.code_tokens(rows, tile);
    return;
  }
  fill_keys(table_, view, memory_.tile_k, memory_.tile_v);
  fill_values(table_, view, memory_.tile_k, memory_.tile_v);
  table_.tile(rows, {.k = memory_.tile_k, .v = memory_.tile_v, .tokens = tokens_of(view)});
}

void AttendSplit::run_tile(const ExactTile& tile) {
  const TileTokens& tokens = tile.tokens;
  if (anyone_sees(tokens.positions[0], tokens.positions[tokens.n_tokens - 1])) exact(tile, rows_);
}

void AttendSplit::exact(const ExactTile& tile, const LaneRows& rows) {
  const std::size_t d = args_.head_dim, n = tile.tokens.n_tokens;
  if (few_ && d % kWidthStep == 0) {
    table_.exact_tokens(rows, tile);
    return;
  }
  table_.exact_keys(tile.k, n, d, memory_.tile_k);
  table_.exact_values(tile.v, n, d, memory_.tile_v);
  table_.tile(rows, {.k = memory_.tile_k, .v = memory_.tile_v, .tokens = tile.tokens});
}

LaneRows AttendSplit::rows_for(const PageView& page) {
  LaneRows rows = rows_;
  if (const QueryTransform transform = transform_for(page); !transform.is_none()) {
    transform_rows_for(transform);
    rows.q = memory_.transformed_q;
  }
  const OperandLayout& values = layout_of_values(*page.layout);
  if (values.transform == Transform::none) return rows;
  const bool is_alike = transformed_v_ != nullptr &&
                        transformed_v_->transform == values.transform &&
                        transformed_v_->basis == values.basis;
  if (!is_alike) merge_transformed();
  if (!is_alike) memory_.transformed_v.clear(n_rows_, plan_.width);
  transformed_v_ = &values;
  rows.most = memory_.transformed_v.most;
  rows.total = memory_.transformed_v.total;
  rows.sum = memory_.transformed_v.sum;
  return rows;
}

// Pages of one frame or one shift are neighbours, so the last transform is usually the one needed.
void AttendSplit::transform_rows_for(const QueryTransform& transform) {
  if (transformed_for_ == transform) return;
  transformed_for_ = transform;
  const std::size_t n = n_rows_, d = args_.head_dim;
  std::memcpy(memory_.transformed_q, memory_.q, n * d * sizeof(float));
  transform_query(table_, transform, args_.rope, memory_.transformed_q, n, d);
  has_transformed_slots_ = false;
}

// Made when a page first needs them.
const float* AttendSplit::slots_of(const float* q) {
  const bool transformed = q == memory_.transformed_q;
  float* const slots = transformed ? memory_.transformed_slots : memory_.q_slots;
  bool& made = transformed ? has_transformed_slots_ : has_slots_;
  if (made) return slots;
  made = true;
  const std::size_t d = args_.head_dim;
  for (std::size_t r = 0; r < n_rows_; ++r) to_slots(q + r * d, d, slots + r * d);
  return slots;
}

// A lane's pages mostly have the same bits.
const KeyParts& AttendSplit::parts_of(const PageLayout& layout) {
  const PageLayout* const last = std::exchange(parts_layout_, &layout);
  if (last == &layout) return parts_;
  if (last != nullptr && last->k.quad_bits == layout.k.quad_bits) return parts_;
  for (auto& of_part : parts_.weights) std::fill_n(of_part, layout.head_dim, 0.0f);
  parts_.n_parts = 0;
  std::fill_n(parts_.n_of_bits, kMixedBitParts, 0);
  std::size_t part = 0;
  for_each_part(layout.k, layout.head_dim, layout.capacity,
                [&](std::size_t first, unsigned below, unsigned bits, std::size_t at) {
                  part = below + bits == layout.k.quad_bits[first / kQuad] ? 0 : part + 1;
                  std::fill_n(parts_.weights[part] + first, kQuad, static_cast<float>(1u << below));
                  parts_.n_parts = std::max(parts_.n_parts, part + 1);
                  const std::size_t kind = bits == 4 ? 0 : bits == 2 ? 1 : 2;
                  parts_.of_bits[kind][parts_.n_of_bits[kind]++] = {
                      .at = static_cast<std::uint16_t>(at / part_bytes(layout.capacity, 1)),
                      .part = static_cast<std::uint8_t>(part),
                      .quad = static_cast<std::uint8_t>(first / kQuad)};
                });
  return parts_;
}

// A basis leaves what RoPE rotates in its page's frame, where no sum of keys over pages means
// anything.
void AttendSplit::merge_transformed() {
  if (transformed_v_ == nullptr) return;
  // Rows of a page's head_dim have no padding.
  if (transformed_v_->transform == Transform::hadamard)
    table_.transform_hadamard(memory_.transformed_v.sum, n_rows_, args_.head_dim);
  else
    transform_out(*transformed_v_, 0, memory_.transformed_v.sum, n_rows_, args_.head_dim);
  out_.merge(memory_.transformed_v, n_rows_, plan_.width);
}

bool AttendSplit::anyone_sees(std::int64_t first_position, std::int64_t last_position) const {
  return first_position <= last_position_ &&
         (args_.window == 0 ||
          last_position > first_position_ - static_cast<std::int64_t>(args_.window));
}

}  // namespace satchel::kernels::cpu
