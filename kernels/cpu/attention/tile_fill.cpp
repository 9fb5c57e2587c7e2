#include "kernels/cpu/attention/tile_fill.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/contract/plane_halves.h"
#include "kernels/contract/transform.h"

namespace satchel::kernels::cpu {
namespace {

// Each column of a tile is a token. Undoes the basis as transform_out() does for rows, but not the
// frame.
void leave_basis(const OperandLayout& operand, float* tile, std::size_t head_dim) {
  float row[kHeadDimMax];
  for (std::size_t t = 0; t < kTileTokens; ++t) {
    for (std::size_t c = 0; c < head_dim; ++c) row[c] = tile[c * kTileTokens + t];
    transform_out(operand, 0, row, 1, head_dim);
    for (std::size_t c = 0; c < head_dim; ++c) tile[c * kTileTokens + t] = row[c];
  }
}

// transform_out() for transposed keys: row c of the tile is channel c of all tokens.
void transform_channels(const OperandLayout& operand, float* tile, std::size_t head_dim) {
  if (operand.transform == Transform::none) return;
  if (operand.transform == Transform::basis) return leave_basis(operand, tile, head_dim);
  const std::size_t n = hadamard_block(head_dim);
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

// Channels become rows' entries: square by square, so that both sides stay in the nearest cache.
void keys_as_values(const float* tile_k, std::size_t n_tokens, std::size_t head_dim,
                    float* tile_v) {
  constexpr std::size_t kSquare = 16;  // which divides head_dim
  for (std::size_t first = 0; first < n_tokens; first += kSquare) {
    const std::size_t end = std::min(first + kSquare, n_tokens);
    for (std::size_t c = 0; c < head_dim; c += kSquare)
      for (std::size_t t = first; t < end; ++t)
        for (std::size_t i = 0; i < kSquare; ++i)
          tile_v[t * head_dim + c + i] = tile_k[(c + i) * kTileTokens + t];
  }
}

}  // namespace

AffinePlanes affine_planes(const OperandLayout& operand, const std::byte* page) {
  const Plane &codes = operand.at(PlaneKind::codes), *low = operand.find(PlaneKind::low_codes);
  const Plane* const zeros = operand.find(PlaneKind::zero);
  return {.codes = page + codes.at,
          .low_codes = low == nullptr ? nullptr : page + low->at,
          .scales = page + operand.at(PlaneKind::scale).at,
          .zeros = zeros == nullptr ? nullptr : page + zeros->at,
          .bits = codes.bits + (low == nullptr ? std::size_t{0} : 1),
          .group = codes.group};
}

MixedBitPlanes mixed_bit_planes(const OperandLayout& operand, const std::byte* page) {
  return {.codes = page + operand.at(PlaneKind::mixed_bit_codes).at,
          .scales = page + operand.at(PlaneKind::scale).at,
          .zeros = page + operand.at(PlaneKind::zero).at,
          .quad_bits = operand.quad_bits.data()};
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
    return table.exact_keys(halves(page.bytes, layout.k.planes[0]), page.n_tokens, d, tile_k);
  if (layout.k.is_affine())
    return table.affine_keys(affine_planes(layout.k, page.bytes), layout.capacity, d, tile_k);
  if (layout.k.is_mixed_bit())
    return table.mixed_bit_keys(mixed_bit_planes(layout.k, page.bytes), layout.capacity, d, tile_k);
  layout.k.code->decode(layout.k, page.bytes, page.n_tokens, d, scratch);
  table.plain_keys(scratch, page.n_tokens, d, tile_k);
}

TileTokens fill_placed_keys(const AttendTable& table, const PageView& page, const RopeTable& rope,
                            float* tile_k, std::int32_t* positions, float* scratch) {
  const PageLayout& layout = *page.layout;
  const std::int32_t* const encoded = tokens_of(page).positions;
  for (std::size_t t = 0; t < page.n_tokens; ++t) positions[t] = encoded[t] + page.shift;
  fill_keys(table, page, tile_k, scratch);
  transform_channels(layout.k, tile_k, layout.head_dim);
  const std::int32_t frame = frame_of(layout, page.bytes);
  rotate_channels(frame == 0 ? rope : layout.k.basis.rope, page.shift + frame, tile_k);
  return {.positions = positions, .n_tokens = page.n_tokens, .live = page.live.words.data()};
}

const OperandLayout& layout_of_values(const PageLayout& layout) {
  return layout.is_latent() ? layout.k : layout.v;
}

void fill_values(const AttendTable& table, const PageView& page, const float* tile_k,
                 float* tile_v) {
  const PageLayout& layout = *page.layout;
  const std::size_t d = layout.head_dim;
  SATCHEL_ASSERT(d % kWidthStep == 0);
  if (layout.is_latent()) return keys_as_values(tile_k, page.n_tokens, d, tile_v);
  if (layout.v.is_exact())
    return table.exact_values(halves(page.bytes, layout.v.planes[0]), page.n_tokens, d, tile_v);
  if (layout.v.is_affine())
    return table.affine_values(affine_planes(layout.v, page.bytes), layout.capacity, d, tile_v);
  layout.v.code->decode(layout.v, page.bytes, page.n_tokens, d, tile_v);
}

}  // namespace satchel::kernels::cpu
