#include "runtime/session/chat_meter.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace satchel::runtime {

ChatMeter::ChatMeter(EngineState& engine, const ChatCache& cache, const Clock& clock,
                     const SessionOptions& options)
    : engine_(engine),
      cache_(cache),
      clock_(clock),
      journal_(options.journal),
      chat_(options.chat),
      rows_(*engine.model) {}

bool ChatMeter::was_compressed_since(const CacheContents& before) const {
  const kvcache::CompactionReport done = done_between(before, contents());
  return done.n_lowered + done.n_evicted > 0;
}

void ChatMeter::note_since(LedgerCause cause, const CacheContents& before) {
  const CacheContents now = contents();
  note(cause, unnoted_between(before, now), bytes_with_new_text(before, now));
}

void ChatMeter::note(LedgerCause cause, const kvcache::CompactionReport& done,
                     std::size_t bytes_before) {
  if (done.n_lowered + done.n_evicted == 0) return;
  meter_.ledger.add({.at_ms = clock_.wall_ms(),
                     .n_tokens = cache_.n_tokens(),
                     .cause = cause,
                     .n_lowered = done.n_lowered,
                     .n_evicted = done.n_evicted,
                     .bytes_before = bytes_before,
                     .bytes_after = cache_->stats().bytes});
}

void ChatMeter::note_moved(LedgerCause cause, const Reuse& reuse, std::size_t bytes_before) {
  meter_.ledger.add({.at_ms = clock_.wall_ms(),
                     .n_tokens = cache_.n_tokens(),
                     .cause = cause,
                     .bytes_before = bytes_before,
                     .bytes_after = cache_->stats().bytes,
                     .reuse = reuse});
  if (!reuse.saves_time())
    engine_.record(LogLevel::warning, "reuse saved no time ms=" + std::to_string(reuse.ms) +
                                          " reading_ms=" + std::to_string(reuse.reading_ms));
}

void ChatMeter::note_thinned(std::size_t n_lane_tokens) {
  std::size_t n_noted = 0;
  for (const LedgerEntry& entry : ledger().entries())
    if (entry.cause == LedgerCause::rest) n_noted += entry.n_lowered;
  if (n_lane_tokens <= n_noted) return;
  forget_measured();
  note(LedgerCause::rest, {.n_lowered = n_lane_tokens - n_noted}, cache_->stats().bytes);
  close_ledger();
}

Result<void> ChatMeter::keep_rows(std::size_t n_tokens, const std::byte* kept) {
  return rows_.keep(*cache_, n_tokens, kept);
}

void ChatMeter::drop_rows() {
  rows_.drop();
  close_ledger();
}

bool ChatMeter::can_measure() const {
  if (rows_.empty()) return false;
  return std::ranges::none_of(cache_->segments(), &kvcache::TextSegment::waits);
}

Result<void> ChatMeter::measure(std::span<const std::int32_t> tokens, std::stop_token stop,
                                const ProgressFn& progress) {
  const std::size_t n = rows_.n();
  if (is_exact(cache_->stats())) {  // nothing was lost, so there is nothing to measure
    drop_rows();
    return {};
  }
  if (progress) progress({Phase::measure_fidelity, 0, n});
  SATCHEL_TRY_ASSIGN(Fidelity measured, rows_.compare(*cache_, tokens, stop));
  measured.measured_at = rows_.end();
  measured.measured_ms = clock_.wall_ms();
  meter_.fidelity = measured;
  note_cost(measured);
  drop_rows();
  if (progress) progress({Phase::measure_fidelity, n, n});
  return {};
}

void ChatMeter::forget_measured() {
  meter_.fidelity = {};
  meter_.recall = {};
  close_ledger();
}

void ChatMeter::save() {
  if (journal_ == nullptr) return;
  std::string text = to_text(meter_);
  if (text == saved_ || text == to_text(Meter())) return;
  const Result<void> kept = journal_->set_note(chat_, kMeterNote, text);
  if (kept.ok())
    saved_ = std::move(text);
  else
    engine_.record(LogLevel::warning, "meter not kept code=" + kept.error().code);
}

Result<void> ChatMeter::load() {
  SATCHEL_TRY_ASSIGN(std::optional<std::string> text, journal_->note(chat_, kMeterNote));
  if (text && restore(*text)) saved_ = std::move(*text);
  return {};
}

bool ChatMeter::restore(const std::string& text) {
  std::optional<Meter> known = meter_from(text);
  if (known)
    meter_ = std::move(*known);
  else
    engine_.record(LogLevel::warning, "meter not readable");
  return known.has_value();
}

void ChatMeter::copy(const ChatMeter& other) {
  meter_ = other.meter_;
  close_ledger();  // the rows to compare with are not its own
}

}  // namespace satchel::runtime
