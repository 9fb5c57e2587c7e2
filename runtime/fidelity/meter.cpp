#include "runtime/fidelity/meter.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace satchel::runtime {
namespace {

constexpr std::string_view kForm = "1", kFormWithReuse = "2";

template <class Number>
void add_number(std::string& line, Number number) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  if (!line.empty()) line += ' ';
  line.append(digits, end);
}

// Removes a number and the space after it from the front. False if there is no number, or something
// else follows it.
template <class Number>
bool take_number(std::string_view& line, Number& number) {
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (code != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty()) return true;
  if (line.front() != ' ') return false;
  line.remove_prefix(1);
  return !line.empty();
}

// Numbers separated by spaces.
template <class... Numbers>
std::string line_of(const Numbers&... numbers) {
  std::string line;
  (add_number(line, numbers), ...);
  return line;
}

// Whether the line consists of exactly these numbers.
template <class... Numbers>
bool take_line(std::string_view line, Numbers&... numbers) {
  return (take_number(line, numbers) && ...) && line.empty();
}

std::string_view take_text_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::string text_of(const LedgerEntry& entry, bool with_reuse) {
  const Reuse& reuse = entry.reuse;
  return line_of(entry.at_ms, entry.n_tokens, static_cast<unsigned>(entry.cause), entry.n_lowered,
                 entry.n_evicted, entry.bytes_before, entry.bytes_after, entry.n_steps) +
         (with_reuse ? " " + line_of(reuse.n_tokens, reuse.n_read, reuse.ms, reuse.reading_ms)
                     : std::string()) +
         " " + to_text(entry.fidelity);
}

bool take_reuse(std::string_view& line, LedgerEntry& entry) {
  Reuse& reuse = entry.reuse;
  const auto is_time = [](double ms) { return ms >= 0 && std::isfinite(ms); };
  return take_number(line, reuse.n_tokens) && take_number(line, reuse.n_read) &&
         take_number(line, reuse.ms) && take_number(line, reuse.reading_ms) && is_time(reuse.ms) &&
         is_time(reuse.reading_ms);
}

bool take_entry(std::string_view line, LedgerEntry& entry, bool with_reuse) {
  unsigned cause = 0;
  const bool taken = take_number(line, entry.at_ms) && take_number(line, entry.n_tokens) &&
                     take_number(line, cause) && take_number(line, entry.n_lowered) &&
                     take_number(line, entry.n_evicted) && take_number(line, entry.bytes_before) &&
                     take_number(line, entry.bytes_after) && take_number(line, entry.n_steps);
  if (!taken || cause >= kLedgerCauses || entry.n_steps == 0) return false;
  entry.cause = static_cast<LedgerCause>(cause);
  if (with_reuse ? !take_reuse(line, entry) : !makes_smaller(entry.cause)) return false;
  const std::optional<Fidelity> cost = fidelity_from(line);
  if (cost) entry.fidelity = *cost;
  return cost.has_value();
}

bool take_recall(std::string_view line, RecallProbe& recall) {
  return take_line(line, recall.n_asked, recall.n_said, recall.measured_at, recall.measured_ms,
                   recall.n_steps) &&
         recall.n_said <= recall.n_asked;
}

}  // namespace

std::string to_text(const Fidelity& fidelity) {
  return line_of(fidelity.n_tokens, fidelity.agreement, fidelity.kl, fidelity.attention_kept,
                 fidelity.measured_at, fidelity.measured_ms);
}

std::optional<Fidelity> fidelity_from(std::string_view text) {
  Fidelity out;
  const bool taken = take_line(text, out.n_tokens, out.agreement, out.kl, out.attention_kept,
                               out.measured_at, out.measured_ms);
  const auto is_share = [](double share) { return share >= 0 && share <= 1; };
  const bool sound = is_share(out.agreement) && is_share(out.attention_kept) && out.kl >= 0 &&
                     std::isfinite(out.kl);
  if (!taken || !sound) return std::nullopt;
  return out;
}

std::string to_text(const Meter& meter) {
  const RecallProbe& recall = meter.recall;
  const auto entries = meter.ledger.entries();
  const bool with_reuse = std::ranges::any_of(entries, [](const LedgerEntry& entry) {
    return !makes_smaller(entry.cause) || entry.reuse.n_tokens + entry.reuse.n_read > 0;
  });
  std::string text = std::string(with_reuse ? kFormWithReuse : kForm) + "\n" +
                     to_text(meter.fidelity) + "\n" +
                     line_of(recall.n_asked, recall.n_said, recall.measured_at, recall.measured_ms,
                             recall.n_steps) +
                     "\n";
  for (const LedgerEntry& entry : entries) text += text_of(entry, with_reuse) + "\n";
  return text;
}

std::optional<Meter> meter_from(std::string_view text) {
  const std::string_view form = take_text_line(text);
  if (form != kForm && form != kFormWithReuse) return std::nullopt;
  Meter meter;
  const std::optional<Fidelity> fidelity = fidelity_from(take_text_line(text));
  if (!fidelity || !take_recall(take_text_line(text), meter.recall)) return std::nullopt;
  meter.fidelity = *fidelity;
  for (std::size_t n = 0; !text.empty(); ++n) {
    LedgerEntry entry;
    if (n == kLedgerEntries || !take_entry(take_text_line(text), entry, form != kForm))
      return std::nullopt;
    meter.ledger.add(entry);
  }
  meter.ledger.close();
  return meter;
}

}  // namespace satchel::runtime
