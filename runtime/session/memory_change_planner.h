// MemoryChangePlanner: what another limit or recipe would do to a chat. It is tried on a copy if
// nothing has to be read again, otherwise estimated. Changes nothing.
//   errors  those of estimator, cache and model. A request that does not fit is no error: see
//           MemoryChange::fits
#pragma once

#include <memory>

#include "runtime/limits/estimator.h"
#include "runtime/session/chat_parts.h"

namespace satchel::runtime {

// How a request is met.
struct MemoryTrial {
  std::size_t own_most = 0;  // what the chat's cache may take under the requested limit
  // Under another recipe; null: none was requested, or it takes reading everything again.
  std::unique_ptr<kvcache::Cache> copy = {};
  bool rereads = false;  // everything is read again
  bool opens = true;     // a chat of the recipe can be opened under the requested limit
  kvcache::CompactionReport report = {};
  MemoryChange change = {};
};

// A token that went through several tiers counts once.
void add(MemoryChange& change, const kvcache::CompactionReport& report, const kvcache::Cache& now);

class MemoryChangePlanner {
 public:
  explicit MemoryChangePlanner(const ChatParts& parts) : parts_(parts) {}

  // A request without a recipe keeps the chat's own. A request for the chat's own recipe restores
  // what was reclaimed.
  Result<MemoryTrial> try_out(const MemoryRequest& request) const;
  Result<MemoryChange> preview(const MemoryRequest& request, std::stop_token stop) const;

  std::size_t limit_of(const MemoryRequest& request) const;
  // What the chat's cache may take so that the chat can continue under the limit.
  std::size_t own_bytes_under(std::size_t limit) const;
  Error limit_error(const MemoryRequest& request, std::size_t least) const;

  // Hidden states of the last tokens over what `of` holds, in scratch; and how far the predictions
  // of `now` for these tokens are from those of `before`.
  std::size_t n_cost_tokens() const;
  Result<kvcache::Arena::Lease> last_rows(kvcache::Cache& of, const std::stop_token& stop) const;
  Result<Fidelity> cost_since(const kvcache::Arena::Lease& before, kvcache::Cache& now,
                              const std::stop_token& stop) const;

 private:
  Result<void> finish_trial(const MemoryRequest& request, std::size_t beside,
                            MemoryTrial& trial) const;
  Result<MemoryChange> reread_change(const MemoryRequest& request) const;
  Result<bool> comes_down(const kvcache::Recipe& recipe) const;
  Result<std::unique_ptr<kvcache::Cache>> copy_under(const kvcache::Recipe& recipe,
                                                     kvcache::CompactionReport& report) const;
  Result<void> shrink_copy(MemoryTrial& trial) const;
  Result<Estimate> estimate_of(const kvcache::Recipe& recipe, std::size_t limit,
                               EstimateAsks asks = {}) const;
  std::size_t others_bytes() const;
  std::size_t bytes_beside() const;

  ChatParts parts_;
};

}  // namespace satchel::runtime
