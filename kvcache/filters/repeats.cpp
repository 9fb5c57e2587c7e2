// Demotes what the text says again and again: commas, common words. What it says often it says
// elsewhere too, and a model can mostly do without; a name or a number that it says once is
// nowhere else.
//   params  power   0: none is demoted (0.3)
//   formula score / n^power, where n tokens of the span have the token's id
//   needs   scores of a prefill, where the ids are known; pooled, if at all, afterwards
//   source  ours (docs/benchmarks/2026-11-recipes.md has what it gains)
#include <cmath>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class RepeatsFilter final : public Filter {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(power_, params.number("power", {.fallback = 0.3, .min = 0, .max = 4}));
    return {};
  }
  bool weighs() const override { return true; }
  float weight(std::size_t n_said) const override {
    return static_cast<float>(std::pow(static_cast<double>(n_said), -power_));
  }
  void apply(const TokenSpan&, std::span<float>) const override {}

 private:
  double power_ = 0.3;
};
}  // namespace

extern const StageMaker filters_repeats = stage_of<RepeatsFilter>("ours");
}  // namespace satchel::kvcache
