// Gives the lower layers more: a constant share for every layer, plus a share that falls linearly
// from layer 0 to the last.
//   formula k_0 = 2x - x/delta, k_{L-1} = x/delta, linear between; x: the mean falling share
//   params  delta     steepness (7)
//           constant  part of the budget that is the same in every layer (0.5)
//   source  arXiv:2411.18077, after the code (layer 0 the most; the appendix says the opposite)
//   differs rounded by largest remainder over all lanes, where the code truncates; no lane gets
//           less than a tenth of the mean, what is protected, or more than there is
#include <vector>

#include "kvcache/stages/apportion.h"
#include "kvcache/stages/layer_totals.h"

namespace satchel::kvcache {
namespace {
class PyramidAllocator final : public Allocator {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(delta_, params.number("delta", {.fallback = 7, .min = 1, .max = 1000}));
    SATCHEL_TRY_ASSIGN(constant_, params.number("constant", {.fallback = 0.5, .min = 0, .max = 1}));
    return {};
  }

  void totals(const TokenSpan& span, std::size_t n_protected,
              std::span<std::size_t> totals) const override {
    const auto n_tokens = static_cast<double>(span.n_tokens);
    const auto n_lanes = static_cast<double>(span.n_lanes);
    const auto constant =
        static_cast<double>(static_cast<std::size_t>(constant_ * span.keep * n_tokens));
    const double falling = static_cast<double>(keep_total(span)) - constant * n_lanes;
    std::vector<double> desired(span.n_layers);
    for (std::size_t layer = 0; layer < span.n_layers; ++layer)
      desired[layer] = constant + slope(layer, span.n_layers) * falling / n_lanes;
    totals_of_layers(span, n_protected, desired, totals);
  }

 private:
  // 1 on average over the layers.
  double slope(std::size_t layer, std::size_t n_layers) const {
    if (n_layers == 1) return 1;
    const double first = 2 - 1 / delta_;
    const double last = 1 / delta_;
    return first + (last - first) * static_cast<double>(layer) / static_cast<double>(n_layers - 1);
  }

  double delta_ = 7, constant_ = 0.5;
};
}  // namespace

extern const StageMaker allocators_pyramid = stage_of<PyramidAllocator>("arXiv:2411.18077");
}  // namespace satchel::kvcache
