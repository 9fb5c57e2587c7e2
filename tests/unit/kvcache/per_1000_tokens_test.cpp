#include "kvcache/state/per_1000_tokens.h"

#include <gtest/gtest.h>

namespace satchel::kvcache {
namespace {

TEST(BytesPer1000Tokens, are_rounded_and_none_where_there_is_no_text) {
  EXPECT_EQ(bytes_per_1000_tokens(98'600'000, 4218), 23'376'008u);
  EXPECT_EQ(bytes_per_1000_tokens(2, 3), 667u);
  EXPECT_EQ(bytes_per_1000_tokens(500, 1000), 500u);
  EXPECT_EQ(bytes_per_1000_tokens(1ull << 62, 1ull << 32), 1'073'741'824'000u) << "no overflow";
  EXPECT_EQ(bytes_per_1000_tokens(4096, 0), 0u);
}

}  // namespace
}  // namespace satchel::kvcache
