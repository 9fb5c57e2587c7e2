// The ledger, and the text in which a chat's measurements are kept.
#include "runtime/fidelity/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/fidelity/meter.h"

namespace satchel::runtime {
namespace {

LedgerEntry step(std::size_t number) {
  return {.at_ms = 1'795'000'000'000 + static_cast<std::int64_t>(number),
          .n_tokens = 100 * number,
          .cause = static_cast<LedgerCause>(number % kLedgerCauses),
          .n_lowered = number,
          .n_evicted = 2 * number,
          .bytes_before = 1000 * number + 10,
          .bytes_after = 1000 * number};
}

Fidelity measured_at(std::size_t token) {
  return {.n_tokens = 128,
          .agreement = 0.8671875,
          .kl = 1.0 / 3,
          .attention_kept = 0.97,
          .measured_at = token,
          .measured_ms = 1'795'299'560'510};
}

TEST(Ledger, a_measurement_is_the_cost_of_the_steps_since_the_one_before) {
  Ledger ledger;
  ledger.add(step(1));
  ledger.measured(measured_at(100));
  ledger.add(step(2));
  ledger.add(step(3));
  ledger.measured(measured_at(300));
  ledger.add(step(4));
  ASSERT_EQ(ledger.entries().size(), 4u);
  EXPECT_EQ(ledger.entries()[0].fidelity.measured_at, 100u);
  EXPECT_EQ(ledger.entries()[1].fidelity.measured_at, 300u);
  EXPECT_EQ(ledger.entries()[2].fidelity.measured_at, 300u);
  EXPECT_EQ(ledger.entries()[3].fidelity.n_tokens, 0u);
}

TEST(Ledger, a_step_whose_exact_reading_is_gone_stays_unmeasured) {
  Ledger ledger;
  ledger.add(step(1));
  ledger.close();
  ledger.add(step(2));
  ledger.measured(measured_at(200));
  EXPECT_EQ(ledger.entries()[0].fidelity.n_tokens, 0u);
  EXPECT_EQ(ledger.entries()[1].fidelity.n_tokens, 128u);
}

TEST(Ledger, what_moving_cost_is_measured_by_itself) {
  Ledger ledger;
  LedgerEntry moved = step(7);
  moved.cause = LedgerCause::placed;
  moved.reuse = {.n_tokens = 900, .n_read = 160, .ms = 20, .reading_ms = 300};
  LedgerEntry reread = moved;
  reread.cause = LedgerCause::corrected;
  reread.reuse = {.n_read = 40, .ms = 3};
  ledger.add(moved);
  ledger.add(reread);
  ledger.add(step(2));
  ledger.measured(measured_at(100));
  EXPECT_EQ(ledger.entries()[0].fidelity.n_tokens, 0u);
  EXPECT_EQ(ledger.entries()[2].fidelity.measured_at, 100u);
  ledger.measured_moved(measured_at(200));
  EXPECT_EQ(ledger.entries()[0].fidelity.measured_at, 200u);
  EXPECT_EQ(ledger.entries()[1].fidelity.n_tokens, 0u) << "nothing was moved";
  EXPECT_EQ(ledger.entries()[2].fidelity.measured_at, 100u);
  ledger.add(moved);
  ledger.measured_moved(measured_at(300));
  EXPECT_EQ(ledger.entries()[0].fidelity.measured_at, 200u);
  EXPECT_EQ(ledger.entries()[3].fidelity.measured_at, 300u);
}

TEST(Reuse, saves_time_unless_it_is_known_not_to) {
  EXPECT_TRUE((Reuse{.n_tokens = 100, .ms = 10, .reading_ms = 11}.saves_time()));
  EXPECT_FALSE((Reuse{.n_tokens = 100, .ms = 11, .reading_ms = 11}.saves_time()));
  EXPECT_TRUE((Reuse{.n_tokens = 100, .ms = 11}.saves_time())) << "the speed is not known";
  const Reuse known{.n_tokens = 10, .n_read = 1, .ms = 2, .reading_ms = 3};
  EXPECT_EQ(sum_of(known, known).reading_ms, 6);
  EXPECT_EQ(sum_of(known, {}).reading_ms, 3);
  const Reuse sum = sum_of(known, {.n_tokens = 5, .ms = 4});
  EXPECT_EQ(sum.reading_ms, 0) << "of a part it is not known";
  EXPECT_EQ(sum.n_tokens, 15u);
  EXPECT_EQ(sum.n_read, 1u);
  EXPECT_EQ(sum.ms, 6);
}

TEST(Ledger, is_bounded_and_its_sums_stay_true) {
  Ledger ledger;
  std::size_t n_lowered = 0, n_evicted = 0;
  const std::size_t n = kLedgerEntries + 40;
  for (std::size_t i = 1; i <= n; ++i) {
    ledger.add(step(i));
    n_lowered += i;
    n_evicted += 2 * i;
    if (i == 5) ledger.measured(measured_at(500));
  }
  ASSERT_EQ(ledger.entries().size(), kLedgerEntries);
  EXPECT_EQ(ledger.n_steps(), n);
  for (const LedgerEntry& entry : ledger.entries()) {
    n_lowered -= entry.n_lowered;
    n_evicted -= entry.n_evicted;
  }
  EXPECT_EQ(n_lowered, 0u);
  EXPECT_EQ(n_evicted, 0u);
  const LedgerEntry& oldest = ledger.entries().front();
  EXPECT_EQ(oldest.n_steps, 41u);
  EXPECT_EQ(oldest.bytes_before, step(1).bytes_before);
  EXPECT_EQ(oldest.bytes_after, step(41).bytes_after);
  EXPECT_EQ(oldest.at_ms, step(41).at_ms);
  EXPECT_EQ(oldest.fidelity.measured_at, 500u) << "the last that was measured";
  ledger.measured(measured_at(9));
  EXPECT_EQ(ledger.entries()[0].fidelity.measured_at, 500u) << "it is closed";
  EXPECT_EQ(ledger.entries()[1].fidelity.measured_at, 9u);
}

Meter some_meter() {
  Meter meter{
      .fidelity = measured_at(700),
      .recall = {.n_asked = 24, .n_said = 23, .measured_at = 710, .measured_ms = 5, .n_steps = 1},
      .ledger = {}};
  meter.ledger.add(step(1));
  meter.ledger.measured(measured_at(700));
  meter.ledger.add(step(2));
  return meter;
}

TEST(MeterText, comes_back_as_it_was) {
  const std::string text = to_text(some_meter());
  const auto again = meter_from(text);
  ASSERT_TRUE(again.has_value()) << text;
  EXPECT_EQ(to_text(*again), text);
  EXPECT_EQ(again->fidelity.kl, 1.0 / 3);
  EXPECT_EQ(again->fidelity.attention_kept, 0.97);
  EXPECT_EQ(again->recall.n_said, 23u);
  ASSERT_EQ(again->ledger.entries().size(), 2u);
  const LedgerEntry entry = again->ledger.entries()[1];
  EXPECT_EQ(entry.at_ms, step(2).at_ms);
  EXPECT_EQ(entry.n_tokens, 200u);
  EXPECT_EQ(entry.cause, step(2).cause);
  EXPECT_EQ(entry.n_lowered, 2u);
  EXPECT_EQ(entry.n_evicted, 4u);
  EXPECT_EQ(entry.bytes_before, 2010u);
  EXPECT_EQ(entry.bytes_after, 2000u);
  EXPECT_EQ(entry.n_steps, 1u);
  EXPECT_TRUE(meter_from(to_text(Meter())).has_value());
}

TEST(MeterText, tells_of_moved_text_and_else_has_the_older_form) {
  Meter meter = some_meter();
  ASSERT_EQ(to_text(meter).substr(0, 2), "1\n");
  LedgerEntry moved = step(3);
  moved.cause = LedgerCause::corrected;
  moved.reuse = {.n_tokens = 900, .n_read = 160, .ms = 20.5, .reading_ms = 1.0 / 3};
  meter.ledger.add(moved);
  const std::string text = to_text(meter);
  EXPECT_EQ(text.substr(0, 2), "2\n");
  const auto again = meter_from(text);
  ASSERT_TRUE(again.has_value()) << text;
  EXPECT_EQ(to_text(*again), text);
  const LedgerEntry& entry = again->ledger.entries().back();
  EXPECT_EQ(entry.cause, LedgerCause::corrected);
  EXPECT_EQ(entry.reuse.n_tokens, 900u);
  EXPECT_EQ(entry.reuse.n_read, 160u);
  EXPECT_EQ(entry.reuse.ms, 20.5);
  EXPECT_EQ(entry.reuse.reading_ms, 1.0 / 3);
}

TEST(MeterText, a_ledger_that_is_read_is_closed) {
  auto again = meter_from(to_text(some_meter()));
  ASSERT_TRUE(again.has_value());
  again->ledger.measured(measured_at(900));
  EXPECT_EQ(again->ledger.entries()[1].fidelity.n_tokens, 0u);
}

TEST(MeterText, a_full_ledger_is_read_and_a_longer_one_is_not) {
  Meter meter;
  for (std::size_t i = 0; i < 2 * kLedgerEntries; ++i) meter.ledger.add(step(i));
  const std::string text = to_text(meter);
  EXPECT_LT(text.size(), 32u * 1024);
  EXPECT_TRUE(meter_from(text).has_value());
  EXPECT_FALSE(meter_from(text + text.substr(text.rfind('\n', text.size() - 2) + 1)).has_value());
}

// Any byte may have become another; nothing of a wrong text is believed, and nothing breaks.
TEST(MeterText, is_none_or_whole_whatever_byte_is_wrong) {
  const std::string text = to_text(some_meter());
  for (std::size_t end = 0; end + 1 < text.size(); ++end) {
    const auto cut = meter_from(text.substr(0, end));
    EXPECT_TRUE(!cut || text.find('\n', end) != std::string::npos || end > text.rfind(' '))
        << "cut at " << end;
  }
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char wrong : {'x', '-', ' ', '\n', '\0'}) {
      std::string damaged = text;
      damaged[at] = wrong;
      const auto meter = meter_from(damaged);
      if (!meter) continue;
      EXPECT_LE(meter->recall.n_said, meter->recall.n_asked);
      EXPECT_LE(meter->ledger.entries().size(), 4u);
    }
}

TEST(MeterText, is_none_where_a_field_is_wrong) {
  const std::string head = "1\n0 1 0 1 0 0\n0 0 0 0 0\n";
  const std::string entry = "5 100 0 1 2 30 20 1 0 1 0 1 0 0\n";
  EXPECT_TRUE(meter_from(head + entry).has_value());
  for (const char* text : {"", "3\n0 1 0 1 0 0\n0 0 0 0 0\n", "1\n", "1\n0 1 0 1 0 0\n",
                           "1\n0 2 0 1 0 0\n0 0 0 0 0\n", "1\n0 1 0 1.5 0 0\n0 0 0 0 0\n",
                           "1\n0 1 0 1 0 0\n1 2 0 0 0\n", "1\n0 1 0 1 0 0\n0 0 0 0\n"})
    EXPECT_FALSE(meter_from(text).has_value()) << text;
  for (const char* wrong :
       {"5 100 6 1 2 30 20 1 0 1 0 1 0 0\n", "5 100 0 1 2 30 20 0 0 1 0 1 0 0\n",
        "5 100 0 1 2 30 20 1\n", "5 100 0 1 2 30 20 1 0 1 0 1 0 0 7\n",
        "5 -100 0 1 2 30 20 1 0 1 0 1 0 0\n", "\n"})
    EXPECT_FALSE(meter_from(head + wrong).has_value()) << wrong;
  const std::string moved = "2" + head.substr(1);
  EXPECT_TRUE(meter_from(moved + "5 100 6 1 2 30 20 1 9 8 7 6 0 1 0 1 0 0\n").has_value());
  for (const char* wrong :
       {"5 100 8 1 2 30 20 1 9 8 7 6 0 1 0 1 0 0\n", "5 100 6 1 2 30 20 1 9 8 -7 6 0 1 0 1 0 0\n",
        "5 100 6 1 2 30 20 1 9 8 7 inf 0 1 0 1 0 0\n", "5 100 6 1 2 30 20 1 0 1 0 1 0 0\n"})
    EXPECT_FALSE(meter_from(moved + wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace satchel::runtime
