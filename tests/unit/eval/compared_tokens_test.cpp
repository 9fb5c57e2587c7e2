#include "app/eval/measure/compared_tokens.h"

#include <gtest/gtest.h>

namespace satchel::eval {
namespace {

TEST(ComparedTokens, count_each_measurement_by_its_tokens) {
  ComparedTokens sum;
  EXPECT_EQ(sum.same(), 0);
  EXPECT_EQ(sum.kl(), 0);
  sum.add(runtime::Fidelity{});  // nothing was measured: it agrees wholly, and counts for nothing
  EXPECT_EQ(sum.n_same, 0);
  sum.add(runtime::Fidelity{.n_tokens = 3, .agreement = 1, .kl = 0.5});
  ComparedTokens other;
  other.add(runtime::Fidelity{.n_tokens = 1, .agreement = 0, .kl = 2.5});
  sum.add(other);
  EXPECT_EQ(sum.n, 4u);
  EXPECT_EQ(sum.same(), 0.75);
  EXPECT_EQ(sum.kl(), 1);
}

}  // namespace
}  // namespace satchel::eval
