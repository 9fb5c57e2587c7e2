// ChatMeter: what compression cost a chat: the ledger of the steps that made its cache smaller, the
// last measurements, and the exact rows that the next one compares with.
//   kept    as a note of the journal. A failure goes to the log, and the next save() tries again
#pragma once

#include <span>
#include <stop_token>
#include <string>

#include "kernels/base/clock.h"
#include "runtime/fidelity/meter.h"
#include "runtime/progress.h"
#include "runtime/replay/exact_rows.h"
#include "runtime/session/cache_contents.h"
#include "runtime/session/chat_cache.h"

namespace satchel::runtime {

class ChatMeter {
 public:
  // All outlive it. The cache may be replaced between calls, after drop_rows().
  ChatMeter(EngineState& engine, const ChatCache& cache, const Clock& clock,
            const SessionOptions& options);

  const Fidelity& fidelity() const { return meter_.fidelity; }
  const RecallProbe& recall() const { return meter_.recall; }
  const Ledger& ledger() const { return meter_.ledger; }
  void set_recall(const RecallProbe& recall) { meter_.recall = recall; }

  CacheContents contents() const { return {cache_->stats(), ledger().entries()}; }
  bool was_compressed_since(const CacheContents& before) const;
  // Adds a step to the ledger if it made anything smaller. Called after the step; bytes_before: the
  // cache's CacheStats::bytes before it.
  void note(LedgerCause cause, const kvcache::CompactionReport& done, std::size_t bytes_before);
  // Adds one step for everything done since `before` that is not in the ledger yet. New text counts
  // as fp16 before it.
  void note_since(LedgerCause cause, const CacheContents& before);
  // Text was moved. bytes_before as for note().
  void note_moved(LedgerCause cause, const Reuse& reuse, std::size_t bytes_before);
  // What moved text had cost until it was read exactly.
  void note_moved_cost(const Fidelity& cost) { meter_.ledger.measured_moved(cost); }
  // What was restored had so many lane-tokens thinned (kvcache/snapshot/thin.h), as it has each
  // time: only those that are new are a step, and end what was measured before.
  void note_thinned(std::size_t n_lane_tokens);
  // The cost of all steps not measured yet; or: they will not be measured.
  void note_cost(const Fidelity& cost) { meter_.ledger.measured(cost); }
  void close_ledger() { meter_.ledger.close(); }

  // ExactRows. They must be dropped before the cache is replaced.
  Result<void> keep_rows(std::size_t n_tokens, const std::byte* kept);
  void drop_rows();
  std::size_t rows_bytes() const { return rows_.bytes(); }
  // Whether rows are there, and nothing they stand for is pending.
  bool can_measure() const;
  //   needs   can_measure(); tokens: of the chat
  Result<void> measure(std::span<const std::int32_t> tokens, std::stop_token stop,
                       const ProgressFn& progress);

  // The cache was replaced: what was measured does not apply to the new one.
  void forget_measured();
  void save();
  Result<void> load();  // needs a journal
  // What is kept, and back from it: false where it cannot be read.
  std::string text() const { return to_text(meter_); }
  bool restore(const std::string& text);
  void copy(const ChatMeter& other);

 private:
  EngineState& engine_;
  const ChatCache& cache_;
  const Clock& clock_;
  Journal* const journal_;
  const ChatId chat_;
  Meter meter_;
  std::string saved_;  // as the journal has it
  ExactRows rows_;
};

}  // namespace satchel::runtime
