// A Fidelity as a line of text.
#include <gtest/gtest.h>

#include "runtime/fidelity/meter.h"

namespace satchel::runtime {
namespace {

TEST(FidelityText, comes_back_as_it_was) {
  const Fidelity measured{.n_tokens = 128,
                          .agreement = 0.8671875,
                          .kl = 1.0 / 3,
                          .attention_kept = 0.9,
                          .measured_at = 4196,
                          .measured_ms = 1'795'299'560'510};
  const auto again = fidelity_from(to_text(measured));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->n_tokens, measured.n_tokens);
  EXPECT_EQ(again->agreement, measured.agreement);
  EXPECT_EQ(again->kl, measured.kl);
  EXPECT_EQ(again->attention_kept, measured.attention_kept);
  EXPECT_EQ(again->measured_at, measured.measured_at);
  EXPECT_EQ(again->measured_ms, measured.measured_ms);
}

TEST(FidelityText, is_none_where_a_field_is_wrong_or_missing) {
  for (const char* text :
       {"", "128", "128 0.5 0.1 7 8", "128 0.5 0.1 1 7 8 9", "128 1.5 0.1 1 7 8",
        "128 0.5 0.1 1.5 7 8", "128 0.5 -1 1 7 8", "128 0.5 nan 1 7 8", "-1 0.5 0.1 1 7 8",
        "128  0.5 0.1 1 7 8", "128 0.5 0.1 1 7 8 ", "a b c d e f", "128 0.5 inf 1 7 8"})
    EXPECT_FALSE(fidelity_from(text).has_value()) << text;
}

}  // namespace
}  // namespace satchel::runtime
