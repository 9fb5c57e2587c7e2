#include "kernels/reference/page_codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "kernels/base/assert.h"
#include "kernels/contract/plane_halves.h"
#include "kernels/contract/row_order.h"
#include "kernels/contract/transform.h"
#include "kernels/reference/codec_affine.h"
#include "kernels/reference/codec_mixed_bit.h"

namespace satchel::kernels::reference {
namespace {

// An affine operand as a matrix of codes: rows of K are tokens, rows of V channels. `group` rows
// share, entry by entry, a scale and a zero.
struct Matrix {
  const Plane& codes;
  const Plane* low_codes;  // 3 bits: the lowest bit
  const Plane& scale;
  const Plane* zero;  // null: symmetric
  AffineKind kind;
  std::size_t n_rows, n_entries;

  Matrix(const PageLayout& page, const OperandLayout& layout, Operand which)
      : codes(layout.at(PlaneKind::codes)),
        low_codes(layout.find(PlaneKind::low_codes)),
        scale(layout.at(PlaneKind::scale)),
        zero(layout.find(PlaneKind::zero)),
        kind({.bits = codes.bits + (low_codes != nullptr ? std::size_t{1} : 0),
              .symmetric = zero == nullptr,
              .clips = layout.clips}),
        n_rows(which == Operand::k ? page.capacity : page.head_dim),
        n_entries(which == Operand::k ? page.head_dim : page.capacity) {}
  std::size_t range_at(std::size_t row, std::size_t slot) const {
    return row / codes.group * n_entries + slot;
  }
  std::size_t code_at(const Plane& plane, std::size_t row) const {
    return plane.at + row * row_bytes(plane.bits, n_entries);
  }

  void put(std::byte* page, std::size_t row, std::size_t slot, unsigned code) const {
    if (low_codes != nullptr) {
      put_code(page + code_at(*low_codes, row), low_codes->bits, slot, code & 1);
      code >>= 1;
    }
    put_code(page + code_at(codes, row), codes.bits, slot, code);
  }
  float value(const std::byte* page, std::size_t row, std::size_t slot) const {
    unsigned code = read_code(page + code_at(codes, row), codes.bits, slot);
    if (low_codes != nullptr)
      code = 2 * code + read_code(page + code_at(*low_codes, row), low_codes->bits, slot);
    const std::size_t at = range_at(row, slot);
    AffineGroup group{.scale = halves(page, scale)[at]};
    if (zero != nullptr) group.zero = halves(page, *zero)[at];
    return decode_value(kind, group, code);
  }
};

// Rows first … first + n - 1 (of one group) of one entry; n values.
void encode_column(const Matrix& matrix, std::size_t first, std::size_t entry, std::span<float> x,
                   std::byte* page) {
  std::array<std::uint8_t, kHeadDimMax> codes;
  NumericWarnings counted_before;
  const AffineGroup group = encode_group(x, matrix.kind, {codes.data(), x.size()}, counted_before);
  const std::size_t slot = slot_of_entry(matrix.n_entries, entry);
  const std::size_t at = matrix.range_at(first, slot);
  halves(page, matrix.scale)[at] = group.scale;
  if (matrix.zero != nullptr) halves(page, *matrix.zero)[at] = group.zero;
  for (std::size_t i = 0; i < x.size(); ++i) matrix.put(page, first + i, slot, codes[i]);
}

// x [n_tokens, head_dim]. A group of keys that is filled in part has the range of what is there.
void encode_affine(const PageLayout& layout, const OperandLayout& operand, Operand which,
                   const float* x, std::size_t n_tokens, std::byte* page) {
  const Matrix matrix(layout, operand, which);
  const bool by_token = which == Operand::k;  // rows are tokens
  const std::size_t d = layout.head_dim, group = matrix.codes.group;
  const std::size_t n_rows = by_token ? n_tokens : d, n_entries = by_token ? d : n_tokens;
  std::array<float, kHeadDimMax> column;
  for (std::size_t first = 0; first < n_rows; first += group) {
    const std::size_t n = std::min(group, n_rows - first);
    for (std::size_t e = 0; e < n_entries; ++e) {
      for (std::size_t i = 0; i < n; ++i)
        column[i] = by_token ? x[(first + i) * d + e] : x[e * d + first + i];
      encode_column(matrix, first, e, {column.data(), n}, page);
    }
  }
}

void decode_affine(const PageLayout& layout, const OperandLayout& operand, Operand which,
                   const std::byte* page, std::size_t n_tokens, float* out) {
  const Matrix matrix(layout, operand, which);
  const bool by_token = which == Operand::k;
  const std::size_t d = layout.head_dim;
  for (std::size_t slot = 0; slot < matrix.n_entries; ++slot) {
    const std::size_t e = entry_of_slot(matrix.n_entries, slot);
    if (!by_token && e >= n_tokens) continue;
    for (std::size_t row = 0; row < (by_token ? n_tokens : d); ++row)
      out[by_token ? row * d + e : e * d + row] = matrix.value(page, row, slot);
  }
}

// An operand as fp32 on the stack, so that encoding pages in a decode step allocates nothing.
using Rows = std::array<float, kPageTokens * kHeadDimMax>;

// Mended, transformed and in range again.
std::span<const float> load(const OperandLayout& operand, std::int32_t frame, const Half* from,
                            std::size_t n_tokens, std::size_t head_dim, Rows& rows,
                            NumericWarnings& warnings) {
  SATCHEL_ASSERT(n_tokens * head_dim <= rows.size());
  const std::span<float> x = std::span(rows).first(n_tokens * head_dim);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = half_to_float(from[i]);
  mend(x, warnings);
  if (operand.transform == Transform::none) return x;
  transform_into(operand, frame, x.data(), n_tokens, head_dim);
  NumericWarnings clamped_only;
  mend(x, clamped_only);
  return x;
}

}  // namespace

void encode_frame(const EncodeArgs& args) {
  const PageLayout& layout = *args.layout;
  const std::size_t n = args.exact.n_tokens;
  SATCHEL_ASSERT(n <= layout.capacity);
  std::memset(args.page, 0, layout.bytes);  // padding too, so that equal tokens give equal bytes
  if (n == 0) return;
  std::memcpy(args.page + layout.positions_at, args.exact.positions, n * sizeof(std::int32_t));
  if (layout.log_counts_at != 0 && args.log_counts != nullptr)
    std::memcpy(args.page + layout.log_counts_at, args.log_counts, n * sizeof(float));
}

void encode_operand(const PageLayout& layout, Operand which, const Half* x, std::size_t n_tokens,
                    std::byte* page, NumericWarnings& warnings) {
  const OperandLayout& operand = layout.of(which);
  const std::size_t d = layout.head_dim;
  if (n_tokens == 0 || operand.is_absent()) return;
  if (operand.is_exact() && operand.transform == Transform::none) {
    std::memcpy(page + operand.planes[0].at, x, n_tokens * d * sizeof(Half));
    return;
  }
  Rows rows;
  // encode_frame() has written the positions that give the frame.
  const std::int32_t frame = which == Operand::k ? frame_of(layout, page) : 0;
  const std::span<const float> values = load(operand, frame, x, n_tokens, d, rows, warnings);
  if (operand.code != nullptr) {
    operand.code->encode(operand, values.data(), n_tokens, d, page);
  } else if (operand.is_exact()) {
    Half* to = halves(page, operand.planes[0]);
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = float_to_half(values[i]);
  } else if (operand.is_mixed_bit()) {
    encode_mixed_bit(layout, operand, values.data(), n_tokens, page);
  } else {
    encode_affine(layout, operand, which, values.data(), n_tokens, page);
  }
}

void decode_operand(const PageLayout& layout, Operand which, const std::byte* page,
                    std::size_t n_tokens, float* out) {
  if (layout.is_latent()) which = Operand::k;
  const OperandLayout& operand = layout.of(which);
  const std::size_t d = layout.head_dim;
  SATCHEL_ASSERT(n_tokens <= layout.capacity);
  const std::int32_t frame = which == Operand::k ? frame_of(layout, page) : 0;
  if (operand.code != nullptr) {
    operand.code->decode(operand, page, n_tokens, d, out);
  } else if (operand.is_exact()) {
    const Half* from = halves(page, operand.planes[0]);
    for (std::size_t i = 0; i < n_tokens * d; ++i) out[i] = half_to_float(from[i]);
  } else if (operand.is_mixed_bit()) {
    decode_mixed_bit(layout, operand, page, n_tokens, out);
  } else {
    decode_affine(layout, operand, which, page, n_tokens, out);
  }
  transform_out(operand, frame, out, n_tokens, d);
}

void decode_page(const DecodeArgs& args) {
  if (args.k != nullptr) decode_operand(*args.layout, Operand::k, args.page, args.n_tokens, args.k);
  if (args.v != nullptr) decode_operand(*args.layout, Operand::v, args.page, args.n_tokens, args.v);
}

}  // namespace satchel::kernels::reference
