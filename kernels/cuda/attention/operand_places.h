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

enum class Form : unsigned { halves, floats, codes, mixed };

constexpr bool has_codes(Form form) {
  return form == Form::codes || form == Form::mixed;
}

constexpr unsigned padded16(unsigned n) {
  return (n + 15) / 16 * 16;
}

// Beside K: positions and counts of its tokens.
inline constexpr unsigned kPlacesBytes = 2 * kUnitTokens * 4;

constexpr unsigned row_stride(Form form, unsigned head_dim) {
  return padded16(head_dim) * (form == Form::halves ? 2 : 4) + 16;
}
// Tokens of a slice where K and V are rows.
constexpr unsigned slice_tokens(Form form, unsigned head_dim) {
  return form == Form::halves && head_dim <= 128 ? 32 : 16;
}

struct CodePlaces {
  unsigned low = 0, scale = 0, zero = 0, bytes = 0;  // codes at 0
};
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

// Mixed-bit keys: scales and zeros, then LanePlan::quads, then the codes of each quad.
inline constexpr unsigned kSkewWords = 8;
constexpr unsigned mixed_quads_at(unsigned head_dim) {
  return 4 * head_dim;
}
constexpr unsigned mixed_codes_at(unsigned head_dim) {
  return 4 * head_dim + head_dim;
}

constexpr Form form_of(const LanePlan& plan, const PageOperand& operand) {
  return !plan.has_kernel                      ? Form::floats
         : operand.form == PageForm::exact     ? Form::halves
         : operand.form == PageForm::mixed_bit ? Form::mixed
                                               : Form::codes;
}
// Keys that want the query in their page's basis.
constexpr bool is_in_basis(const LanePlan& plan) {
  return plan.has_kernel && plan.page.k.transform == Transform::basis;
}
// Of a page: all of it, where K or V has to be there whole.
constexpr unsigned slice_tokens(const LanePlan& plan) {
  const Form k = form_of(plan, plan.page.k), v = form_of(plan, plan.page.v);
  if (has_codes(k) || has_codes(v)) return kUnitTokens;
  return slice_tokens(k, plan.page.head_dim);
}
constexpr unsigned part_bytes_of(const LanePlan& plan, bool is_k) {
  const PageOperand& operand = is_k ? plan.page.k : plan.page.v;
  const unsigned d = plan.page.head_dim, capacity = plan.page.capacity;
  const Form form = form_of(plan, operand);
  if (form == Form::codes)
    return is_k ? code_places(operand, capacity, d).bytes : code_places(operand, d, capacity).bytes;
  if (form == Form::mixed) {
    const std::uint32_t last = plan.quads[d / kQuad - 1];
    return 4 * ((last >> 4) + (last & 15) * capacity / 8);
  }
  const unsigned slice = slice_tokens(plan);
  return (slice < capacity ? slice : capacity) * row_stride(form, d);
}

}  // namespace satchel::kernels::cuda
