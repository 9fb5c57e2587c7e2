// A ChatService with the bundled model on the CPU.
#pragma once

#include <memory>
#include <utility>

#include "runtime/chat/chat_service.h"
#include "support/bundled_model.h"
#include "support/memory_chat_store.h"
#include "support/value_of.h"

namespace satchel::test {

// chats  nullptr: nothing is kept. clock  not owned; nullptr: the system's
inline std::unique_ptr<runtime::ChatService> open_chat_service(std::shared_ptr<MemoryChats> chats,
                                                               const Clock* clock = nullptr) {
  std::unique_ptr<runtime::ChatStore> store;
  if (chats != nullptr) store = std::make_unique<MemoryChatStore>(std::move(chats));
  runtime::EngineOptions options;
  options.backend = "cpu";
  options.n_threads = 2;
  auto service =
      std::make_unique<runtime::ChatService>(std::move(store), std::move(options), clock);
  value_of(service->open_model(kBundledModel));
  return service;
}

}  // namespace satchel::test
