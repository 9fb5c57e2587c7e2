#include "kernels/base/size_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace satchel {
namespace {

TEST(SizeText, changes_its_unit_where_a_thousand_would_be_shown) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(999), "999 bytes");
  EXPECT_EQ(size_text(1000), "1.0 kB");
  EXPECT_EQ(size_text(999'949), "999.9 kB");
  EXPECT_EQ(size_text(999'950), "1.0 MB");
  EXPECT_EQ(size_text(8'452'000), "8.5 MB");
  EXPECT_EQ(size_text(31'904'000'000'000), "31.9 TB");
  EXPECT_EQ(size_text(SIZE_MAX), "18.4 EB");
}

TEST(SizeText, of_a_count_has_a_comma_before_each_three_digits) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(31'904), "31,904");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
}

TEST(SizeText, of_a_time_has_the_digits_that_matter) {
  EXPECT_EQ(duration_text(4.24), "4.2 ms");
  EXPECT_EQ(duration_text(58.4), "58 ms");
  EXPECT_EQ(duration_text(210), "0.21 s");
  EXPECT_EQ(duration_text(31'000), "31.0 s");
  EXPECT_EQ(duration_text(185'900), "3 min 5 s");
}

TEST(SizeText, of_a_number_has_as_many_digits_as_were_asked) {
  EXPECT_EQ(fixed_text(.966, 2), "0.97");
  EXPECT_EQ(fixed_text(-1, 1), "-1.0");
  EXPECT_EQ(fixed_text(41.6, 0), "42");
  EXPECT_EQ(fixed_text(1e300, 1), "?") << "no number for people";
}

}  // namespace
}  // namespace satchel
