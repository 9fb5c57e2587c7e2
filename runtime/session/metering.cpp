// What was measured of a chat, the ledger, and where they are kept.
#include <algorithm>

#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

std::size_t rise(std::size_t before, std::size_t after) {
  return after - std::min(before, after);
}

// Steps down that lane-tokens took, from one tier to the next.
std::size_t n_steps_down(const std::array<std::size_t, kvcache::kTiersMax>& before,
                         const std::array<std::size_t, kvcache::kTiersMax>& now) {
  std::size_t n = 0;
  for (std::size_t tier = 0; tier < now.size(); ++tier) n += rise(before[tier], now[tier]);
  return std::min(n, *std::ranges::max_element(now));
}

}  // namespace

Session::State::Held Session::State::held() const {
  const kvcache::CacheStats stats = cache->stats();
  Held held{.bytes = stats.bytes, .fp16_bytes = stats.fp16_bytes, .n_evicted = stats.n_evicted};
  for (std::size_t tier = stats.tiers.size(), n = 0; tier-- > kvcache::kTierRecipe;) {
    if (stats.tiers[tier].name != "exact") n += stats.tiers[tier].n_tokens;
    held.n_from[tier] = n;
  }
  for (const LedgerEntry& entry : meter.ledger.entries()) {
    held.n_noted_lowered += entry.n_lowered;
    held.n_noted_evicted += entry.n_evicted;
  }
  return held;
}

bool Session::State::was_compressed_since(const Held& before) const {
  const Held now = held();
  return n_steps_down(before.n_from, now.n_from) > 0 || now.n_evicted > before.n_evicted;
}

void Session::State::note_since(LedgerCause cause, const Held& before) {
  const Held now = held();
  note(cause,
       {.n_evicted = rise(now.n_noted_evicted - before.n_noted_evicted,
                          rise(before.n_evicted, now.n_evicted)),
        .n_lowered = rise(now.n_noted_lowered - before.n_noted_lowered,
                          n_steps_down(before.n_from, now.n_from))},
       before.bytes + rise(before.fp16_bytes, now.fp16_bytes));
}

void Session::State::note(LedgerCause cause, const kvcache::CompactionReport& done,
                          std::size_t bytes_before) {
  if (done.n_lowered + done.n_evicted == 0) return;
  meter.ledger.add({.at_ms = clock.wall_ms(),
                    .n_tokens = n_read(),
                    .cause = cause,
                    .n_lowered = done.n_lowered,
                    .n_evicted = done.n_evicted,
                    .bytes_before = bytes_before,
                    .bytes_after = cache->stats().bytes});
}

void Session::State::keep_meter() {
  if (options.journal == nullptr) return;
  std::string text = to_text(meter);
  if (text == meter_kept || text == to_text(Meter())) return;
  const Result<void> kept = options.journal->set_note(options.chat, kMeterNote, text);
  if (kept.ok())
    meter_kept = std::move(text);
  else
    engine.record(LogLevel::warning, "meter not kept code=" + kept.error().code);
}

Result<void> Session::State::load_meter() {
  SATCHEL_TRY_ASSIGN(std::optional<std::string> text,
                     options.journal->note(options.chat, kMeterNote));
  if (!text) return {};
  std::optional<Meter> known = meter_from(*text);
  if (!known) {
    engine.record(LogLevel::warning, "meter not readable");
    return {};
  }
  meter = std::move(*known);
  meter_kept = std::move(*text);
  return {};
}

void Session::State::forget_measured() {
  meter.fidelity = {};
  meter.recall = {};
  meter.ledger.close();
}

}  // namespace satchel::runtime
