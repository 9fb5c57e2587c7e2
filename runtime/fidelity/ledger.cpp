#include "runtime/fidelity/ledger.h"

namespace satchel::runtime {
namespace {

LedgerEntry folded(const LedgerEntry& older, LedgerEntry newer) {
  newer.n_lowered += older.n_lowered;
  newer.n_evicted += older.n_evicted;
  newer.bytes_before = older.bytes_before;
  newer.n_steps += older.n_steps;
  if (newer.fidelity.n_tokens == 0) newer.fidelity = older.fidelity;
  return newer;
}

}  // namespace

void Ledger::add(const LedgerEntry& entry) {
  entries_.push_back(entry);
  if (entries_.size() <= kLedgerEntries) return;
  entries_[1] = folded(entries_[0], entries_[1]);
  entries_.erase(entries_.begin());
  if (n_closed_ > 1) --n_closed_;
}

void Ledger::measured(const Fidelity& fidelity) {
  for (std::size_t i = n_closed_; i < entries_.size(); ++i) entries_[i].fidelity = fidelity;
  close();
}

std::size_t Ledger::n_steps() const {
  std::size_t n = 0;
  for (const LedgerEntry& entry : entries_) n += entry.n_steps;
  return n;
}

}  // namespace satchel::runtime
