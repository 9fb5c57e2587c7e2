// LoopWatch: sees when an answer says the same again and again.
//   rule     the newest tokens are one stretch of up to kPeriodMax tokens, at least kTimesMin times
//            in a row, and at least kTokensMin tokens altogether: a row of dashes, a sum's zeros or
//            a refrain is no loop. Chosen, not measured
//   cost     kPeriodMax comparisons a token, no allocation
//   differs  the repetition penalty (Sampling) makes loops rare; it sees single tokens in a short
//            window and cannot tell a loop from a list
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace satchel::runtime {

class LoopWatch {
 public:
  static constexpr std::size_t kPeriodMax = 128, kTimesMin = 4, kTokensMin = 64;

  // True once the answer's tokens, `token` being the newest, end in a loop.
  bool loops_after(std::int32_t token);

 private:
  std::array<std::int32_t, kPeriodMax> recent_ = {};  // a ring; token t at t % kPeriodMax
  // [p - 1]: so many of the newest tokens equal the one p before them
  std::array<std::size_t, kPeriodMax> same_ = {};
  std::size_t n_tokens_ = 0;
};

}  // namespace satchel::runtime
