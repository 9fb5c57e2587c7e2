// MemoryChanger: changes limit or recipe of an open chat, at once if that only lowers or evicts,
// otherwise by reading everything again.
//   errors  as Session::change_memory and Session::set_recipe
#pragma once

#include "runtime/session/chat_prefill.h"
#include "runtime/session/memory_change_planner.h"

namespace satchel::runtime {

class MemoryChanger {
 public:
  MemoryChanger(const ChatParts& parts, ChatPrefill& prefill)
      : parts_(parts), prefill_(prefill), planner_(parts) {}

  Result<MemoryChange> change(const MemoryRequest& request, std::stop_token stop,
                              const ProgressFn& progress);
  // Everything is read again.
  Result<ReadReport> set_recipe(const kvcache::Recipe& recipe, std::stop_token stop,
                                const ProgressFn& progress);

 private:
  Result<void> come_down(MemoryTrial& trial, const MemoryRequest& request,
                         const std::stop_token& stop);
  Result<void> shrink_under(std::size_t most, MemoryChange& change);
  Result<void> raise_limit(std::size_t limit, std::stop_token stop, const ProgressFn& progress);

  ChatParts parts_;
  ChatPrefill& prefill_;
  MemoryChangePlanner planner_;
};

}  // namespace satchel::runtime
