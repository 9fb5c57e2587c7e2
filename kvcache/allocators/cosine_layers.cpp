// Budgets fall from layer to layer along a cosine: slowly, then faster, then slowly again.
// Protected tokens come on top in every layer.
//   formula layer l chooses from what the layer below it chose the share
//           rho_l = (1 - delta) · (cos(pi · l / L) + 1) / 2 + delta, so that of all tokens it
//           chooses rho_0 · … · rho_l, scaled by one factor so that the total is met; none above
//           what there is
//   params  delta   the least that a layer leaves of the one below it (0.9)
//   source  arXiv:2405.12532 (PyramidInfer), the authors' settings
//   differs the schedule gives the shape and the recipe's share the size, where the schedule gives
//           both in the paper; largest remainder over all lanes; no lane gets less than a tenth of
//           the mean, what it protects counted
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "kvcache/stages/layer_totals.h"

namespace satchel::kvcache {
namespace {
class CosineLayersAllocator final : public Allocator {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(delta_, params.number("delta", {.fallback = 0.9, .min = 0.01, .max = 1}));
    return {};
  }

  void totals(const TokenSpan& span, std::size_t n_protected,
              std::span<std::size_t> totals) const override {
    const std::size_t beside = std::min(n_protected, span.n_tokens);
    const auto most = static_cast<double>(span.n_tokens - beside);
    std::vector<double> choices = shares(span.n_layers);
    scale(choices, mean_choice(span, beside) * static_cast<double>(span.n_layers), most);
    for (double& choice : choices) choice += static_cast<double>(beside);
    totals_of_layers(span, n_protected, choices, totals);
  }

 private:
  // Of the first layer's choice.
  std::vector<double> shares(std::size_t n_layers) const {
    std::vector<double> shares(n_layers);
    double share = 1;
    for (std::size_t layer = 0; layer < n_layers; ++layer) {
      const double angle =
          std::numbers::pi * static_cast<double>(layer) / static_cast<double>(n_layers);
      share *= (1 - delta_) * (std::cos(angle) + 1) / 2 + delta_;
      shares[layer] = share;
    }
    return shares;
  }
  // To the sum `total`. They fall: those that would be more than `most` come first.
  static void scale(std::span<double> shares, double total, double most) {
    double below = std::accumulate(shares.begin(), shares.end(), 0.0), left = total;
    for (double& share : shares) {
      const double choice = std::min(most, share * left / below);
      below -= share;
      left -= choice;
      share = choice;
    }
  }

  double delta_ = 0.9;
};
}  // namespace

extern const StageMaker allocators_cosine_layers =
    stage_of<CosineLayersAllocator>("arXiv:2405.12532");
}  // namespace satchel::kvcache
