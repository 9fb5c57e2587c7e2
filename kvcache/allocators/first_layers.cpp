// The first layers keep everything, because their keys predict attention poorly. The other layers
// share the rest equally.
//   params  layers  how many (2)
//   source  arXiv:2406.11430 section 3
//   differs the spared layers have half of all that is kept at most, so that something is left for
//           the others of a model with few layers or a small share
#include <algorithm>
#include <vector>

#include "kvcache/stages/apportion.h"
#include "kvcache/stages/layer_totals.h"

namespace satchel::kvcache {
namespace {
class FirstLayersAllocator final : public Allocator {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(layers_, params.count("layers", {.fallback = 2, .min = 0, .max = 1024}));
    return {};
  }

  void totals(const TokenSpan& span, std::size_t n_protected,
              std::span<std::size_t> totals) const override {
    const std::size_t of_layer = span.n_lanes / span.n_layers;
    const std::size_t n_layers = std::min(layers_, span.n_layers), n_spared = n_layers * of_layer;
    const auto total = static_cast<double>(keep_total(span));
    const double alike = total / static_cast<double>(span.n_lanes);
    double spared = alike, others = alike;
    if (n_spared > 0 && n_spared < span.n_lanes) {
      const double half = total / 2 / static_cast<double>(n_spared);
      spared = std::min(static_cast<double>(span.n_tokens), std::max(alike, half));
      others = (total - spared * static_cast<double>(n_spared)) /
               static_cast<double>(span.n_lanes - n_spared);
    }
    std::vector<double> desired(span.n_layers, others);
    std::fill_n(desired.begin(), n_layers, spared);
    totals_of_layers(span, n_protected, desired, totals, LaneFloor::none);
  }

 private:
  std::size_t layers_ = 2;
};
}  // namespace

extern const StageMaker allocators_first_layers =
    stage_of<FirstLayersAllocator>("arXiv:2406.11430");
}  // namespace satchel::kvcache
