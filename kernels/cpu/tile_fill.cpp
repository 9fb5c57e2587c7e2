#include "kernels/cpu/tile_fill.h"

#include "kernels/base/assert.h"

namespace satchel::kernels::cpu {
namespace {

const Half* rows_of(const PageView& page, const OperandLayout& operand) {
  return reinterpret_cast<const Half*>(page.bytes + operand.planes[0].at);
}

}  // namespace

AffinePlanes affine_planes(const OperandLayout& operand, const std::byte* page) {
  const Plane& codes = operand.at(PlaneKind::codes);
  return {.codes = page + codes.at,
          .scales = page + operand.at(PlaneKind::scale).at,
          .zeros = page + operand.at(PlaneKind::zero).at,
          .bits = codes.bits,
          .group = codes.group};
}

TileTokens tokens_of(const PageView& page) {
  const PageLayout& layout = *page.layout;
  return {.positions = reinterpret_cast<const std::int32_t*>(page.bytes + layout.positions_at),
          .n_tokens = page.n_tokens,
          .shift = page.shift,
          .live = page.live.words.data(),
          .log_counts = layout.log_counts_at == 0
                            ? nullptr
                            : reinterpret_cast<const float*>(page.bytes + layout.log_counts_at)};
}

void fill_keys(const AttendTable& table, const PageView& page, float* tile_k, float* scratch) {
  const PageLayout& layout = *page.layout;
  const std::size_t d = layout.head_dim;
  if (layout.k.is_exact())
    return table.exact_keys(rows_of(page, layout.k), page.n_tokens, d, tile_k);
  if (layout.k.is_affine())
    return table.affine_keys(affine_planes(layout.k, page.bytes), layout.capacity, d, tile_k);
  layout.k.code->decode(layout.k, page.bytes, page.n_tokens, d, scratch);
  table.plain_keys(scratch, page.n_tokens, d, tile_k);
}

void fill_values(const AttendTable& table, const PageView& page, float* tile_v) {
  const PageLayout& layout = *page.layout;
  const std::size_t d = layout.head_dim;
  SATCHEL_ASSERT(d % kWidthStep == 0);
  if (layout.v.is_exact())
    return table.exact_values(rows_of(page, layout.v), page.n_tokens, d, tile_v);
  if (layout.v.is_affine())
    return table.affine_values(affine_planes(layout.v, page.bytes), layout.capacity, d, tile_v);
  layout.v.code->decode(layout.v, page.bytes, page.n_tokens, d, tile_v);
}

}  // namespace satchel::kernels::cpu
