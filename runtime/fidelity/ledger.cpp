#include "runtime/fidelity/ledger.h"

namespace satchel::runtime {
namespace {

LedgerEntry folded(const LedgerEntry& older, LedgerEntry newer) {
  newer.n_lowered += older.n_lowered;
  newer.n_evicted += older.n_evicted;
  newer.bytes_before = older.bytes_before;
  newer.n_steps += older.n_steps;
  newer.reuse = sum_of(older.reuse, newer.reuse);
  if (newer.fidelity.n_tokens == 0) newer.fidelity = older.fidelity;
  return newer;
}

}  // namespace

// Of one the time may not be known.
Reuse sum_of(const Reuse& a, const Reuse& b) {
  const auto is_none = [](const Reuse& one) { return one.n_tokens + one.n_read == 0; };
  const bool is_known = (is_none(a) || a.reading_ms > 0) && (is_none(b) || b.reading_ms > 0);
  return {.n_tokens = a.n_tokens + b.n_tokens,
          .n_read = a.n_read + b.n_read,
          .ms = a.ms + b.ms,
          .reading_ms = is_known ? a.reading_ms + b.reading_ms : 0};
}

SinceMeasured since_measured(const Fidelity& fidelity, std::span<const LedgerEntry> ledger) {
  SinceMeasured since;
  if (fidelity.n_tokens == 0) return since;
  for (const LedgerEntry& entry : ledger)
    if (entry.at_ms > fidelity.measured_ms)
      (makes_smaller(entry.cause) ? since.was_compressed : since.was_moved) = true;
  return since;
}

void Ledger::add(const LedgerEntry& entry) {
  entries_.push_back(entry);
  if (entries_.size() <= kLedgerEntries) return;
  entries_[1] = folded(entries_[0], entries_[1]);
  entries_.erase(entries_.begin());
  if (n_closed_ > 1) --n_closed_;
}

void Ledger::measured(const Fidelity& fidelity) {
  for (std::size_t i = n_closed_; i < entries_.size(); ++i)
    if (makes_smaller(entries_[i].cause)) entries_[i].fidelity = fidelity;
  close();
}

void Ledger::measured_moved(const Fidelity& fidelity) {
  for (LedgerEntry& entry : entries_)
    if (!makes_smaller(entry.cause) && entry.reuse.n_tokens > 0 && entry.fidelity.n_tokens == 0)
      entry.fidelity = fidelity;
}

std::size_t Ledger::n_steps() const {
  std::size_t n = 0;
  for (const LedgerEntry& entry : entries_) n += entry.n_steps;
  return n;
}

}  // namespace satchel::runtime
