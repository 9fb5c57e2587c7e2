#include "app/cli/meter_text.h"

#include <ctime>
#include <string_view>
#include <vector>

#include "app/cli/text_table.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

using runtime::LedgerEntry;

// Of a cause: in JSON, and for people.
constexpr std::string_view kCauses[] = {"read",  "turn", "idle",      "limit",
                                        "asked", "rest", "corrected", "placed"};
constexpr std::string_view kReasons[] = {
    "new text",     "turn ended",      "idle time",         "memory limit",
    "your request", "thinned on disk", "message corrected", "document moved here"};
static_assert(std::size(kCauses) == runtime::kLedgerCauses);
static_assert(std::size(kReasons) == runtime::kLedgerCauses);

std::string kl_text(double kl) {
  return kl > 0 && kl < 0.0005 ? "< 0.001" : fixed_text(kl, 3);
}

std::string ago(std::int64_t ms) {
  const std::int64_t minutes = ms / 60'000;
  if (minutes < 1) return "just now";
  if (minutes < 60) return std::to_string(minutes) + " min ago";
  if (minutes < 48 * 60) return std::to_string(minutes / 60) + " h ago";
  return std::to_string(minutes / (24 * 60)) + " days ago";
}

std::string measured_text(std::size_t at, std::int64_t ms, std::int64_t now_ms) {
  return " (measured at token " + count_text(at) + ", " + ago(now_ms - ms) + ")";
}

// "message corrected: 1,234 moved, 160 read, no time saved"
std::string step_text(const LedgerEntry& entry) {
  const runtime::Reuse& reuse = entry.reuse;
  std::string text = entry.n_steps == 1
                         ? std::string(kReasons[static_cast<std::size_t>(entry.cause)])
                         : count_text(entry.n_steps) + " steps";
  if (reuse.n_tokens + reuse.n_read == 0) return text;
  text += ": " + count_text(reuse.n_tokens) + " moved, " + count_text(reuse.n_read) + " read";
  return text + (reuse.saves_time() ? "" : ", no time saved");
}

Cells row_of(const LedgerEntry& entry) {
  const runtime::Fidelity& cost = entry.fidelity;
  const std::string step = step_text(entry);
  Cells row = {date_text(entry.at_ms),      step,
               count_text(entry.n_tokens),  count_text(entry.n_lowered),
               count_text(entry.n_evicted), size_text(entry.bytes_before),
               size_text(entry.bytes_after)};
  if (cost.n_tokens == 0) {
    row.insert(row.end(), {"-", "-", "-", "not measured"});
  } else {
    row.insert(row.end(),
               {format_percent(cost.agreement), kl_text(cost.kl),
                format_percent(cost.attention_kept), "token " + count_text(cost.measured_at)});
  }
  return row;
}

}  // namespace

Json to_json(const runtime::Fidelity& fidelity) {
  if (fidelity.n_tokens == 0) return Json{{"measured", false}};
  return Json{{"measured", true},
              {"tokens", fidelity.n_tokens},
              {"agreement", fidelity.agreement},
              {"kl_nats", fidelity.kl},
              {"attention_kept", fidelity.attention_kept},
              {"measured_at_token", fidelity.measured_at},
              {"measured_ms", fidelity.measured_ms}};
}

Json to_json(const runtime::RecallProbe& recall) {
  if (recall.n_asked == 0) return Json{{"measured", false}};
  return Json{{"measured", true},
              {"facts_asked", recall.n_asked},
              {"facts_said", recall.n_said},
              {"measured_at_token", recall.measured_at},
              {"measured_ms", recall.measured_ms}};
}

Json to_json(std::span<const LedgerEntry> ledger) {
  Json rows = Json::array();
  for (const LedgerEntry& entry : ledger)
    rows.push_back({{"at_ms", entry.at_ms},
                    {"tokens", entry.n_tokens},
                    {"cause", kCauses[static_cast<std::size_t>(entry.cause)]},
                    {"steps", entry.n_steps},
                    {"lowered_lane_tokens", entry.n_lowered},
                    {"evicted_lane_tokens", entry.n_evicted},
                    {"bytes_before", entry.bytes_before},
                    {"bytes_after", entry.bytes_after},
                    {"moved_tokens", entry.reuse.n_tokens},
                    {"read_tokens", entry.reuse.n_read},
                    {"ms", entry.reuse.ms},
                    {"reading_ms_estimate", entry.reuse.reading_ms},
                    {"fidelity", to_json(entry.fidelity)}});
  return rows;
}

std::string describe_placed(std::size_t n_placed, std::size_t n_tokens) {
  return "Moved, not read: " + count_text(n_placed) + " of " + count_text(n_tokens) +
         " tokens stand as they were read behind other text. They do not reflect what stands "
         "before "
         "them now (/exact reads them again).";
}

std::string describe(const runtime::Fidelity& fidelity, std::int64_t now_ms) {
  if (fidelity.n_tokens == 0) return "Fidelity: not measured yet.";
  return "Fidelity: same next token " + format_percent(fidelity.agreement) + " of the time, KL " +
         kl_text(fidelity.kl) + " nats, " + format_percent(fidelity.attention_kept) +
         " of attention retained" +
         measured_text(fidelity.measured_at, fidelity.measured_ms, now_ms) + ".";
}

std::string describe(const runtime::Fidelity& fidelity, std::span<const LedgerEntry> ledger,
                     std::int64_t now_ms) {
  const runtime::SinceMeasured since = runtime::since_measured(fidelity, ledger);
  std::string text = describe(fidelity, now_ms);
  if (since.was_moved) text += " That was before text was corrected or moved.";
  if (since.was_compressed)
    text += " The chat has been compressed further since; /ledger shows the cost.";
  return text;
}

std::string describe(const runtime::RecallProbe& recall, std::int64_t now_ms) {
  if (recall.n_asked == 0) return "Recall: not measured yet.";
  return "Recall: " + count_text(recall.n_said) + " of " + count_text(recall.n_asked) +
         " facts from the text repeated correctly" +
         measured_text(recall.measured_at, recall.measured_ms, now_ms) + ".";
}

std::string describe(std::span<const LedgerEntry> ledger) {
  if (ledger.empty()) return "Ledger: nothing has been compressed.";
  std::size_t n_steps = 0, n_lowered = 0, n_evicted = 0, n_moved = 0;
  for (const LedgerEntry& entry : ledger) {
    n_steps += entry.n_steps;
    n_lowered += entry.n_lowered;
    n_evicted += entry.n_evicted;
    n_moved += entry.reuse.n_tokens;
  }
  return "Ledger: " + count_text(n_steps) + (n_steps == 1 ? " step" : " steps") +
         "; precision lowered for " + count_text(n_lowered) + " keys and values, " +
         count_text(n_evicted) + " dropped" +
         (n_moved > 0 ? "; " + count_text(n_moved) + " tokens moved, not read" : "") +
         ". Enter /ledger for the list.";
}

std::string table_of(std::span<const LedgerEntry> ledger) {
  std::vector<Cells> rows = {{"when", "reason", "at token", "lowered", "dropped", "before", "after",
                              "same next token", "KL", "attention", "measured at"}};
  for (const LedgerEntry& entry : ledger) rows.push_back(row_of(entry));
  return aligned(rows);
}

std::string date_text(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm local = {};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

}  // namespace satchel::app
