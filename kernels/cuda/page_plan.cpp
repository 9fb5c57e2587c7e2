#include "kernels/contract/page_layout.h"
#include "kernels/cuda/pages.h"

namespace satchel::kernels::cuda {
namespace {

std::optional<PageOperand> plan_of(const OperandLayout& layout) {
  PageOperand out{.is_exact = layout.is_exact(),
                  .is_turned = layout.turn == Turn::hadamard,
                  .clips = layout.clips};
  if (layout.turn == Turn::basis || (!out.is_exact && !layout.is_affine())) return std::nullopt;
  if (out.is_exact) {
    out.values_at = layout.planes[0].at;
    return out;
  }
  const Plane& codes = layout.at(PlaneKind::codes);
  const Plane *low = layout.find(PlaneKind::low_codes), *zero = layout.find(PlaneKind::zero);
  out.low_bits = low == nullptr ? 0 : low->bits;
  out.bits = codes.bits + out.low_bits;
  out.group = codes.group;
  out.values_at = codes.at;
  out.low_at = low == nullptr ? 0 : low->at;
  out.scale_at = layout.at(PlaneKind::scale).at;
  out.is_symmetric = zero == nullptr;
  out.zero_at = zero == nullptr ? 0 : zero->at;
  return out;
}

}  // namespace

std::optional<PagePlan> page_plan(const PageLayout& layout) {
  const auto k = plan_of(layout.k), v = plan_of(layout.v);
  if (!k || !v) return std::nullopt;
  return PagePlan{.head_dim = layout.head_dim,
                  .capacity = layout.capacity,
                  .bytes = layout.bytes,
                  .positions_at = layout.positions_at,
                  .log_counts_at = layout.log_counts_at,
                  .k = *k,
                  .v = *v};
}

}  // namespace satchel::kernels::cuda
