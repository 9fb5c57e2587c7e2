#include "kernels/base/checked.h"

#include <gtest/gtest.h>

namespace satchel {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Checked, small_arithmetic_gives_its_value) {
  EXPECT_EQ((Checked(6) * Checked(7)).to(), 42u);
  EXPECT_EQ((Checked(6) + Checked(7)).to(), 13u);
  EXPECT_EQ((Checked(7) - Checked(6)).to(), 1u);
  EXPECT_EQ(Checked(0).rounded_up(32).to(), 0u);
  EXPECT_EQ(Checked(1).rounded_up(32).to(), 32u);
  EXPECT_EQ(Checked(33).rounded_up(32).to(), 64u);
}

TEST(Checked, an_overflow_stays_bad_to_the_end_of_the_chain) {
  EXPECT_EQ((Checked(kMax) * Checked(2)).to(), std::nullopt);
  EXPECT_EQ((Checked(kMax) + Checked(1)).to(), std::nullopt);
  EXPECT_EQ((Checked(1) - Checked(2)).to(), std::nullopt);
  EXPECT_EQ(Checked(kMax).rounded_up(32).to(), std::nullopt);
  EXPECT_EQ(((Checked(kMax) * Checked(2)) * Checked(0) + Checked(5)).to(), std::nullopt);
}

TEST(Checked, a_narrower_type_takes_only_what_it_can_hold) {
  EXPECT_EQ(Checked(127).to<std::int8_t>(), 127);
  EXPECT_EQ(Checked(128).to<std::int8_t>(), std::nullopt);
}

}  // namespace
}  // namespace satchel
