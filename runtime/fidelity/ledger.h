// Ledger: every step that made a chat's cache smaller, what it was for and what it cost.
//   step     text went to a coarser tier or out of lanes; what made nothing smaller is none
//   cost     measured later, of several steps at once: they have the same figure then. A step whose
//            exact reading is gone before it was measured stays without one
//   bounded  where there is no room for another, the two oldest become one (n_steps says how many
//            steps an entry stands for), so that sums over all entries stay true
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/fidelity/fidelity.h"

namespace satchel::runtime {

// What made the chat smaller.
enum class LedgerCause : std::uint8_t {
  read,   // a text was compressed while, or right after, it was read
  turn,   // a turn went on or ended
  idle,   // what waited was packed while nobody did
  limit,  // room was made under the memory limit
  asked,  // somebody asked for it
};
inline constexpr std::size_t kLedgerCauses = 5;

struct LedgerEntry {
  std::int64_t at_ms = 0;    // since 1970, UTC
  std::size_t n_tokens = 0;  // of the chat then
  LedgerCause cause = LedgerCause::read;
  std::size_t n_lowered = 0, n_evicted = 0;  // lane-tokens to a coarser tier, and gone
  // CacheStats::bytes around it. Where text was read, what is new counts as in fp16 before.
  std::size_t bytes_before = 0, bytes_after = 0;
  Fidelity fidelity = {};   // measured after it; n_tokens 0: not measured
  std::size_t n_steps = 1;  // more: older steps in one; when, cause and fidelity are the last one's
};

inline constexpr std::size_t kLedgerEntries = 256;  // chosen: 25 kB of text at most

class Ledger {
 public:
  void add(const LedgerEntry& entry);
  // The cost of all steps since the last measured() or close().
  void measured(const Fidelity& fidelity);
  // What they can be compared with is gone.
  void close() { n_closed_ = entries_.size(); }
  std::span<const LedgerEntry> entries() const { return entries_; }  // oldest first
  std::size_t n_steps() const;                                       // that ever were

 private:
  std::vector<LedgerEntry> entries_;
  std::size_t n_closed_ = 0;  // that no measurement will concern
};

}  // namespace satchel::runtime
