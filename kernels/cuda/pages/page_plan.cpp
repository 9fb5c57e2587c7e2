#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/contract/page_layout.h"
#include "kernels/contract/transform.h"
#include "kernels/cuda/pages/pages.h"

namespace satchel::kernels::cuda {
namespace {

// Least tokens or channels of a slice: a warp's worth.
constexpr unsigned kSliceLeast = 32;

void plan_affine(const OperandLayout& layout, PageOperand& out) {
  const Plane& codes = layout.at(PlaneKind::codes);
  const Plane *low = layout.find(PlaneKind::low_codes), *zero = layout.find(PlaneKind::zero);
  out.form = PageForm::affine;
  out.clips = layout.clips;
  out.low_bits = low == nullptr ? 0 : low->bits;
  out.bits = codes.bits + out.low_bits;
  out.group = codes.group;
  out.values_at = codes.at;
  out.low_at = low == nullptr ? 0 : low->at;
  out.scale_at = layout.at(PlaneKind::scale).at;
  out.is_symmetric = zero == nullptr;
  out.zero_at = zero == nullptr ? 0 : zero->at;
}

void plan_mixed_bit(const OperandLayout& layout, PageOperand& out) {
  out.form = PageForm::mixed_bit;
  out.values_at = layout.at(PlaneKind::mixed_bit_codes).at;
  out.scale_at = layout.at(PlaneKind::scale).at;
  out.zero_at = layout.at(PlaneKind::zero).at;
  for (unsigned quad = 0; quad < kCudaQuadsMax; ++quad)
    out.quad_bits[quad / 8] |= std::uint32_t{layout.quad_bits[quad]} << quad % 8 * 4;
}

// A group of tokens of keys and what a token is transformed within belong to one slice.
void plan_slices(const PageLayout& layout, bool is_k, PageOperand& out) {
  const unsigned block = out.transform == Transform::hadamard
                             ? static_cast<unsigned>(hadamard_block(layout.head_dim))
                             : 1;
  unsigned least = 1;
  if (out.form == PageForm::affine) least = is_k ? out.group : std::lcm(out.group, block);
  if (out.form == PageForm::mixed_bit) least = block;
  out.slices_tokens = out.form != PageForm::mixed_bit && (is_k || out.form != PageForm::affine);
  const unsigned n = out.slices_tokens ? layout.capacity : layout.head_dim;
  out.slice = std::min((kSliceLeast + least - 1) / least * least, n);
  out.n_slices = (n + out.slice - 1) / out.slice;
}

PageOperand plan_of(const PageLayout& page, const OperandLayout& layout, bool is_k) {
  PageOperand out{.transform = layout.transform};
  if (layout.code != nullptr) {
    out.form = PageForm::coded;
    return out;
  }
  if (layout.is_affine()) plan_affine(layout, out);
  if (layout.is_mixed_bit()) plan_mixed_bit(layout, out);
  if (layout.is_exact()) out.values_at = layout.planes[0].at;
  plan_slices(page, is_k, out);
  return out;
}

}  // namespace

PagePlan page_plan(const PageLayout& layout, const PageBasis& basis) {
  const auto block = static_cast<double>(hadamard_block(layout.head_dim));
  return {.head_dim = layout.head_dim,
          .capacity = layout.capacity,
          .bytes = layout.bytes,
          .positions_at = layout.positions_at,
          .log_counts_at = layout.log_counts_at,
          .transform_norm = static_cast<float>(1 / std::sqrt(block)),
          .k = plan_of(layout, layout.k, true),
          .v = plan_of(layout, layout.v, false),
          .basis = basis};
}

void PackShape::add(const PagePlan& plan) {
  for (const PageOperand* operand : {&plan.k, &plan.v}) {
    if (operand->form == PageForm::coded) continue;
    const bool by_token = operand->slices_tokens;
    n_slices = std::max(n_slices, operand->n_slices);
    slice_floats = std::max(slice_floats, by_token ? operand->slice * (plan.head_dim + 1)
                                                   : plan.capacity * (operand->slice + 1));
    unsigned words = kMixedBitWordsOfChannel * operand->slice;
    if (operand->form == PageForm::affine)
      words = operand->slice / operand->group * (by_token ? plan.head_dim : plan.capacity);
    range_words = std::max(range_words, words);
    if (operand->transform == Transform::basis)
      basis_floats = std::max(basis_floats, plan.capacity * plan.head_dim);
  }
  is_shared = (std::size_t{slice_floats} + range_words) * sizeof(float) <= shared_bytes_max_;
}

}  // namespace satchel::kernels::cuda
