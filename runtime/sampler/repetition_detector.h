// RepetitionDetector: detects answers that repeat themselves.
//   rule     the newest tokens are a sequence of up to kPeriodMax tokens, repeated at least
//            kTimesMin times and at least kTokensMin tokens in total. So a row of dashes, a
//            number's zeros or a refrain is not a loop. Chosen, not measured.
//   cost     kPeriodMax comparisons per token, no allocation
//   differs  the repetition penalty (Sampling) makes loops rarer. It sees single tokens in a short
//            window and cannot distinguish a loop from a list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace satchel::runtime {

class RepetitionDetector {
 public:
  static constexpr std::size_t kPeriodMax = 128, kTimesMin = 4, kTokensMin = 64;

  // Adds the newest token. True if the answer now ends in a loop.
  bool loops_after(std::int32_t token);

 private:
  std::array<std::int32_t, kPeriodMax> recent_ = {};  // a ring; token t at t % kPeriodMax
  // [p - 1]: how many of the newest tokens equal the token p before them
  std::array<std::size_t, kPeriodMax> same_ = {};
  std::size_t n_tokens_ = 0;
};

}  // namespace satchel::runtime
