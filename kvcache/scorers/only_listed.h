// OnlyListedScorer: a published scorer that nobody can use here, since it works only with parameters that
// were trained together with a model, and no model's are there. Its recipe is listed and explained; a
// cache of it is refused.
//   errors  unsupported, SELECTOR_WEIGHTS: what is needed, why it is not there, what to use instead
#pragma once

#include <string>
#include <string_view>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

class OnlyListedScorer : public Scorer {
 public:
  ScorerWants wants(const LaneShares*) const final { return {}; }
  Result<void> check(const CacheShape&) const final { return missing(); }
  Result<void> observe(kernels::Backend&, const Observation&,
                       std::span<const ObservedLane>) const final {
    return missing();
  }

 private:
  virtual std::string_view why() const = 0;
  Error missing() const { return {ErrorKind::unsupported, "SELECTOR_WEIGHTS", std::string(why())}; }
};

}  // namespace satchel::kvcache
