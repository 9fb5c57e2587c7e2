// What the terminal says of a chat's measurements.
#include "app/cli/meter_text.h"

#include <gtest/gtest.h>

#include <array>

namespace satchel::app {
namespace {

constexpr std::int64_t kMinute = 60'000;

TEST(MeterText, what_was_measured_before_the_last_step_is_said_to_be_older) {
  const std::array<runtime::LedgerEntry, 1> step = {{{.at_ms = 2 * kMinute}}};
  runtime::Fidelity measured{.n_tokens = 128, .agreement = 0.9, .kl = 0.1};
  measured.measured_ms = kMinute;
  EXPECT_NE(describe(measured, step, 3 * kMinute).find("compressed further since"),
            std::string::npos);
  measured.measured_ms = 2 * kMinute;
  EXPECT_EQ(describe(measured, step, 3 * kMinute), describe(measured, 3 * kMinute));
}

TEST(MeterText, what_was_never_measured_has_no_since) {
  const std::array<runtime::LedgerEntry, 1> step = {{{.at_ms = 2 * kMinute}}};
  EXPECT_EQ(describe(runtime::Fidelity(), step, 3 * kMinute), "Fidelity: not measured yet.");
}

TEST(MeterText, what_was_moved_says_of_how_many_and_how_to_read_it) {
  const std::string text = describe_placed(1200, 5000);
  EXPECT_NE(text.find("1,200 of 5,000 tokens"), std::string::npos) << text;
  EXPECT_NE(text.find("/exact"), std::string::npos) << text;
}

}  // namespace
}  // namespace satchel::app
