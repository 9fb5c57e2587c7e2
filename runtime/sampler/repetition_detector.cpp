#include "runtime/sampler/repetition_detector.h"

#include <algorithm>

namespace satchel::runtime {

bool RepetitionDetector::loops_after(std::int32_t token) {
  bool loops = false;
  for (std::size_t period = 1; period <= std::min(n_tokens_, kPeriodMax); ++period) {
    std::size_t& same = same_[period - 1];
    same = recent_[(n_tokens_ - period) % kPeriodMax] == token ? same + 1 : 0;
    // The first of the stretches has nothing before it to equal.
    loops = loops || same + period >= std::max(kTimesMin * period, kTokensMin);
  }
  recent_[n_tokens_++ % kPeriodMax] = token;
  return loops;
}

}  // namespace satchel::runtime
