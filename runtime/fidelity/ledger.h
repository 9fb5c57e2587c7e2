// Ledger: every step that changed what a chat's cache holds of its text, with its cause and cost.
//   step     text went to a coarser tier or was evicted: the cache became smaller. Or text was
//            moved and not read (LedgerCause::corrected, placed)
//   cost     measured later, for several steps at once, which then share the figure. A step has no
//            cost if its exact reference is gone before the measurement. What moving cost is
//            measured when the text is read exactly
//   bounded  when the ledger is full, the two oldest entries become one (n_steps counts the steps
//            of an entry), so that sums over all entries stay correct
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/fidelity/fidelity.h"

namespace satchel::runtime {

// What made the chat smaller, or moved its text.
enum class LedgerCause : std::uint8_t {
  read,       // a text was compressed during or right after its prefill
  turn,       // a turn continued or ended
  idle,       // pending text was compressed while the chat was idle
  limit,      // memory was reclaimed under the limit
  asked,      // the user requested it
  rest,       // the saved cache was thinned while nobody used the chat
  corrected,  // a message says something else: what follows it was moved, or read again
  placed,     // a document that another chat had read was moved here
};
inline constexpr std::size_t kLedgerCauses = 8;
constexpr bool makes_smaller(LedgerCause cause) {
  return cause != LedgerCause::corrected && cause != LedgerCause::placed;
}

// What was not read, because it had been read before.
struct Reuse {
  std::size_t n_tokens = 0;  // held as they were read elsewhere; 0: none
  std::size_t n_read = 0;    // read all the same, for them
  double ms = 0;             // for both
  // That reading both would have taken, at the speed measured last; 0: not known.
  double reading_ms = 0;

  bool saves_time() const { return reading_ms == 0 || ms < reading_ms; }  // as far as is known
};
Reuse sum_of(const Reuse& a, const Reuse& b);

struct LedgerEntry {
  std::int64_t at_ms = 0;    // since 1970, UTC
  std::size_t n_tokens = 0;  // of the chat then
  LedgerCause cause = LedgerCause::read;
  std::size_t n_lowered = 0, n_evicted = 0;  // lane-tokens moved to a coarser tier, and evicted
  // CacheStats::bytes before and after. For prefill, `before` counts the new text as fp16.
  std::size_t bytes_before = 0, bytes_after = 0;
  Reuse reuse = {};         // where text was moved
  Fidelity fidelity = {};   // measured after it; n_tokens 0: not measured
  std::size_t n_steps = 1;  // more: older steps in one; when, cause and fidelity are the last one's
};

// What a measurement does not cover, because it came later.
struct SinceMeasured {
  bool was_compressed = false, was_moved = false;  // moved: a message says something else, too
};
SinceMeasured since_measured(const Fidelity& fidelity, std::span<const LedgerEntry> ledger);

inline constexpr std::size_t kLedgerEntries = 256;  // chosen: 25 kB of text at most

class Ledger {
 public:
  void add(const LedgerEntry& entry);
  // The cost of all steps since the last measured() or close() that made the chat smaller.
  void measured(const Fidelity& fidelity);
  // What the chat lost by all its moved text that has not been measured before.
  void measured_moved(const Fidelity& fidelity);
  // The exact reference of all steps so far is gone.
  void close() { n_closed_ = entries_.size(); }
  std::span<const LedgerEntry> entries() const { return entries_; }  // oldest first
  std::size_t n_steps() const;                                       // in the chat's lifetime

 private:
  std::vector<LedgerEntry> entries_;
  std::size_t n_closed_ = 0;  // entries that no later measurement covers
};

}  // namespace satchel::runtime
