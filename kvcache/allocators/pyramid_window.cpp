// Gives the lower layers more of the tokens that can be chosen. Protected tokens come on top in
// every layer, like an observation window.
//   formula b: the mean budget of a lane without what it protects. The last layer's lanes choose
//           b/beta, the first's 2b - b/beta, linear between; where the first's would be more than
//           there is, they choose all, and the slope is flatter so that the mean stays b
//   params  beta    steepness (20)
//   source  arXiv:2406.02069 (PyramidKV) section 4.2
//   differs real numbers and largest remainder over all lanes, where the authors' code divides
//           whole numbers and exceeds the total, and has no slope at all where a text is shorter
//           than 2b; no lane gets less than a tenth of the mean, what it protects counted
#include <algorithm>
#include <vector>

#include "kvcache/stages/layer_totals.h"

namespace satchel::kvcache {
namespace {
class PyramidWindowAllocator final : public Allocator {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(beta_, params.number("beta", {.fallback = 20, .min = 1, .max = 1000}));
    return {};
  }

  void totals(const TokenSpan& span, std::size_t n_protected,
              std::span<std::size_t> totals) const override {
    const std::size_t beside = std::min(n_protected, span.n_tokens);
    const double mean = mean_choice(span, beside);
    const double first = std::min(2 * mean - mean / beta_,
                                  std::max(mean, static_cast<double>(span.n_tokens - beside)));
    const double last = 2 * mean - first;
    std::vector<double> desired(span.n_layers);
    for (std::size_t layer = 0; layer < span.n_layers; ++layer) {
      const double depth =
          span.n_layers == 1 ? 0.5
                             : static_cast<double>(layer) / static_cast<double>(span.n_layers - 1);
      desired[layer] = static_cast<double>(beside) + first + (last - first) * depth;
    }
    totals_of_layers(span, n_protected, desired, totals);
  }

 private:
  double beta_ = 20;
};
}  // namespace

extern const StageMaker allocators_pyramid_window =
    stage_of<PyramidWindowAllocator>("arXiv:2406.02069");
}  // namespace satchel::kvcache
