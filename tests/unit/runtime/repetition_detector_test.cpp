#include "runtime/sampler/repetition_detector.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/base/rng.h"

namespace satchel::runtime {
namespace {

// After how many tokens it says that they loop; 0: never.
std::size_t caught_after(const std::vector<std::int32_t>& tokens) {
  RepetitionDetector watch;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (watch.loops_after(tokens[i])) return i + 1;
  return 0;
}

std::vector<std::int32_t> repeated(std::size_t period, std::size_t n) {
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < n; ++i) tokens.push_back(static_cast<std::int32_t>(100 + i % period));
  return tokens;
}

TEST(RepetitionDetector, catches_every_period_after_four_times_and_64_tokens) {
  for (std::size_t period = 1; period <= RepetitionDetector::kPeriodMax; ++period)
    EXPECT_EQ(caught_after(repeated(period, 2000)), std::max<std::size_t>(4 * period, 64))
        << period;
  EXPECT_EQ(caught_after(repeated(RepetitionDetector::kPeriodMax + 1, 2000)), 0u);
}

TEST(RepetitionDetector, catches_a_loop_behind_other_text_wherever_it_begins) {
  for (const std::size_t before : {1u, 63u, 127u, 128u, 129u, 500u}) {
    Rng rng(before);
    std::vector<std::int32_t> tokens;
    for (std::size_t i = 0; i < before; ++i)
      tokens.push_back(static_cast<std::int32_t>(1000 + rng.next() % 1000));
    const auto loop = repeated(20, 200);
    tokens.insert(tokens.end(), loop.begin(), loop.end());
    EXPECT_EQ(caught_after(tokens), before + 80);
  }
}

TEST(RepetitionDetector, leaves_text_lists_and_rows_of_signs_alone) {
  Rng rng(7);
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < 5000; ++i) tokens.push_back(static_cast<std::int32_t>(rng.next() % 50));
  EXPECT_EQ(caught_after(tokens), 0u);
  // Lines that are alike but for their number, and a rule of 40 dashes between them.
  tokens.clear();
  for (int line = 0; line < 100; ++line) {
    for (int i = 0; i < 12; ++i) tokens.push_back(i == 3 ? 500 + line : i);
    if (line % 10 == 0) tokens.insert(tokens.end(), 40, 7);
  }
  EXPECT_EQ(caught_after(tokens), 0u);
}

}  // namespace
}  // namespace satchel::runtime
