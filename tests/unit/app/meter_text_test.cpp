// What the terminal says of a chat's measurements.
#include "app/cli/meter_text.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

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

runtime::LedgerEntry moved() {
  return {.at_ms = 2 * kMinute,
          .cause = runtime::LedgerCause::corrected,
          .reuse = {.n_tokens = 1234, .n_read = 160, .ms = 400, .reading_ms = 3100}};
}

TEST(MeterText, a_step_that_moved_text_says_what_was_moved_and_whether_that_paid) {
  runtime::LedgerEntry step = moved();
  EXPECT_NE(table_of({&step, 1}).find("message corrected: 1,234 moved, 160 read "),
            std::string::npos);
  EXPECT_NE(describe(std::span<const runtime::LedgerEntry>(&step, 1)).find("1,234 tokens moved"),
            std::string::npos);
  const Json json = to_json(std::span<const runtime::LedgerEntry>(&step, 1)).front();
  EXPECT_EQ(json["cause"], "corrected");
  EXPECT_EQ(json["moved_tokens"], 1234);
  EXPECT_EQ(json["reading_ms_estimate"], 3100);
  step.reuse.ms = 3200;
  EXPECT_NE(table_of({&step, 1}).find("160 read, no time saved"), std::string::npos);
}

TEST(MeterText, what_was_measured_before_a_correction_is_said_to_be_older) {
  const runtime::LedgerEntry step = moved();
  runtime::Fidelity measured{.n_tokens = 128, .agreement = 0.9, .kl = 0.1, .measured_ms = kMinute};
  EXPECT_EQ(describe(measured, {&step, 1}, 3 * kMinute),
            describe(measured, 3 * kMinute) + " That was before text was corrected or moved.");
  measured.measured_ms = step.at_ms;
  EXPECT_EQ(describe(measured, {&step, 1}, 3 * kMinute), describe(measured, 3 * kMinute));
}

}  // namespace
}  // namespace satchel::app
