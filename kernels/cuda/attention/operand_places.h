// The part of K or V that a block holds in shared memory at a time, and its layout. An affine
// operand is held whole, with its planes in page order. Rows of halves or floats are held a few
// tokens at a time, padded by 16 bytes so that columns fall into different banks.
#pragma once

#include <cstddef>

#include "kernels/contract/row_order.h"
#include "kernels/cuda/attention/decode.h"

namespace satchel::kernels::cuda {

// The shared memory that a block may use. Capped at what every card from sm_80 on has, so that more
// than one block fits a multiprocessor.
constexpr std::size_t attend_shared_most(std::size_t shared_bytes_max) {
  constexpr std::size_t kMost = 99 * 1024;
  return shared_bytes_max < kMost ? shared_bytes_max : kMost;
}

// Tiles of 16 rows of a packed page that a warp asks for at a time.
inline constexpr unsigned kTilesAhead = 2;

constexpr unsigned padded16(unsigned n) {
  return (n + 15) / 16 * 16;
}

// Beside K: positions and counts of its tokens.
inline constexpr unsigned kPlacesBytes = 2 * kUnitTokens * 4;

constexpr unsigned row_stride(Form form, unsigned head_dim) {
  return padded16(head_dim) * (form == Form::halves ? 2 : 4) + 16;
}
// Tokens of a slice where K and V are rows: as many as have 16 KiB, so that each warp has a tile.
constexpr unsigned slice_tokens(Form form, unsigned head_dim) {
  if (form != Form::halves) return 16;
  return head_dim <= 64 ? kUnitTokens : head_dim <= 128 ? kUnitTokens / 2 : kUnitTokens / 4;
}

constexpr CodePlaces code_places(const PageOperand& operand, unsigned n_rows, unsigned n_entries) {
  const auto plane = [&](unsigned bits) {
    return bits == 0 ? 0u : n_rows * static_cast<unsigned>(row_bytes(bits, n_entries));
  };
  const unsigned of_scales = n_rows / operand.group * n_entries * 2;
  CodePlaces out;
  out.low = plane(operand.bits - operand.low_bits);
  out.scale = out.low + plane(operand.low_bits);
  out.zero = out.scale + of_scales;
  out.bytes = operand.is_symmetric ? out.zero : out.zero + of_scales;
  return out;
}

constexpr bool has_codes(Form form) {
  return form == Form::codes || form == Form::mixed;
}

// Mixed-bit keys: scales and zeros, then LanePlan::quads, then the codes of each quad.
inline constexpr unsigned kSkewWords = 8;
constexpr unsigned mixed_quads_at(unsigned head_dim) {
  return 4 * head_dim;
}
constexpr unsigned mixed_codes_at(unsigned head_dim) {
  return 4 * head_dim + head_dim;
}

// Keys that want the query in their page's basis.
constexpr bool is_in_basis(const LanePlan& plan) {
  return plan.has_kernel && plan.page.k.transform == Transform::basis;
}
constexpr Form form_of(const PageOperand& operand) {
  return operand.form == PageForm::exact       ? Form::halves
         : operand.form == PageForm::mixed_bit ? Form::mixed
                                               : Form::codes;
}
// Of a page that is decoded first: rows of floats.
constexpr DecodeOperand decode_operand(const PageOperand& operand, unsigned n_rows,
                                       unsigned n_entries) {
  DecodeOperand out{.form = form_of(operand),
                    .is_transformed = operand.transform == Transform::hadamard,
                    .values_at = operand.values_at};
  if (out.form == Form::halves) return out;
  out.scale_at = operand.scale_at;
  if (out.form == Form::mixed) return out;
  out.is_symmetric = operand.is_symmetric;
  out.bits = static_cast<std::uint8_t>(operand.bits);
  out.of_group = operand.group / 16;
  out.places = code_places(operand, n_rows, n_entries);
  return out;
}

// Of a page: all of it, where K or V has to be there whole.
constexpr unsigned slice_tokens(const LanePlan& plan) {
  if (has_codes(plan.k.form) || has_codes(plan.v.form)) return kUnitTokens;
  return slice_tokens(plan.k.form, plan.page.head_dim);
}
constexpr unsigned part_bytes_of(const LanePlan& plan, bool is_k) {
  const DecodeOperand& operand = is_k ? plan.k : plan.v;
  const unsigned d = plan.page.head_dim, capacity = plan.page.capacity;
  if (operand.form == Form::codes) return operand.places.bytes;
  if (operand.form == Form::mixed) {
    const std::uint32_t last = plan.quads[d / kQuad - 1];
    return 4 * ((last >> 4) + (last & 15) * capacity / 8);
  }
  const unsigned slice = plan.slice_tokens;
  return (slice < capacity ? slice : capacity) * row_stride(operand.form, d);
}

}  // namespace satchel::kernels::cuda
