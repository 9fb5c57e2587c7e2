// Scores tokens randomly: a baseline for all other scorers. The same on every run and machine.
//   params  seed    seed of the random numbers (1)
//   cost    none
//   source  ours, after the baseline of NVIDIA's kvpress
//   differs lanes of a layer have chances of their own, layers share them
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014), of a counter; in (0, 1).
float chance(std::uint64_t n) {
  n += 0x9e3779b97f4a7c15u;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
  n ^= n >> 31;
  return (static_cast<float>(n >> 41) + 0.5f) / static_cast<float>(1u << 23);
}

class RandomScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(seed_, params.count("seed", {.fallback = 1, .min = 0, .max = 65535}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override { return {}; }
  Result<void> observe(kernels::Backend&, const Observation&,
                       std::span<const ObservedLane>) const override {
    return {};
  }
  bool scores_held() const override { return true; }
  bool score_held(const HeldKeys&, std::span<float>) const override { return true; }
  Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan& span,
                      std::span<const ScoredLane> lanes) const override {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const std::span<float> scores = lanes[i].scores;
      for (std::size_t t = 0; t < scores.size(); ++t)
        if (scores[t] != kNotThere)
          scores[t] = chance((std::uint64_t{seed_} << 48) ^ (std::uint64_t{i} << 32) ^
                             (span.first_position + t));
    }
    return {};
  }

 private:
  std::size_t seed_ = 1;
};
}  // namespace

extern const StageMaker scorers_random = stage_of<RandomScorer>("ours");
}  // namespace satchel::kvcache
