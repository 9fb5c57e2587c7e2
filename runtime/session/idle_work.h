// IdleWork: what may wait: reading what is left of documents, compressing what is pending,
// measuring what that cost, the recall probe, the model's head-budget profile.
//   stop    between two pieces of work; what was done stays done
#pragma once

#include "runtime/session/chat_prefill.h"
#include "runtime/session/recall_run.h"

namespace satchel::runtime {

class IdleWork {
 public:
  IdleWork(const ChatParts& parts, ChatPrefill& prefill)
      : parts_(parts), prefill_(prefill), recall_(parts) {}

  bool is_due() const;
  Result<IdleReport> run(const std::stop_token& stop, const ProgressFn& progress);

 private:
  // True if nothing is pending any more.
  Result<bool> compress(const std::stop_token& stop, const ProgressFn& progress,
                        IdleReport& report);
  // True if it was not stopped.
  Result<bool> read_rest(const std::stop_token& stop, const ProgressFn& progress);
  // Reads one of the parts that were left. True if no more wait.
  Result<bool> read_left(const std::stop_token& stop, const ProgressFn& progress,
                         IdleReport& report);
  // True if no aged turns wait to be gathered any more.
  Result<bool> gather(const std::stop_token& stop, IdleReport& report);
  // Each: true if it is done, or cannot be done.
  bool measure(const std::stop_token& stop, const ProgressFn& progress, IdleReport& report);
  bool profile(const std::stop_token& stop, const ProgressFn& progress);

  ChatParts parts_;
  ChatPrefill& prefill_;
  RecallRun recall_;
};

}  // namespace satchel::runtime
