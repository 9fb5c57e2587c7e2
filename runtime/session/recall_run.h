// RecallRun: the recall probe of a chat (RecallProbe), passage by passage. The model repeats what
// was read, in a temporary fork of the cache.
//   when    text that was read has been compressed since the last probe. Without memory for a fork
//           nothing is measured until the cache changes again
//   errors  none: after a failure the probe is given up
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "runtime/fidelity/recall_probe.h"
#include "runtime/prefill/prefill_text.h"
#include "runtime/session/chat_parts.h"

namespace satchel::runtime {

class RecallRun {
 public:
  explicit RecallRun(const ChatParts& parts) : parts_(parts) {}

  bool is_due() const;
  // True if it is done or given up. After a stop between two passages it continues there, unless
  // the cache has changed.
  bool advance(const std::stop_token& stop, const ProgressFn& progress);

 private:
  struct Run {
    std::vector<Passage> passages;
    std::size_t n_done = 0, n_tokens = 0;  // passages; of the chat when it began
    RecallProbe sum;
  };
  std::vector<Passage> passages() const;
  // Adds the passage's facts to `sum`.
  Result<void> ask(const Passage& passage, const RepeatScript& how, RecallProbe& sum,
                   const std::stop_token& stop) const;
  // The model's most likely token in place of each of the passage's, by teacher forcing behind
  // `before`.
  Result<std::vector<TokenId>> repeated(kvcache::Cache& into, const Passage& passage,
                                        std::span<const TokenId> before,
                                        const std::stop_token& stop) const;

  ChatParts parts_;
  std::optional<Run> run_;  // while a probe is not finished
};

}  // namespace satchel::runtime
