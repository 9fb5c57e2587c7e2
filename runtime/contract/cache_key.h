// The key under which a chat's cache is saved. The name is on disk: kvcache.db knows caches by it.
#pragma once

#include <string>

#include "kvcache/snapshot/record_store.h"
#include "runtime/contract/journal.h"

namespace satchel::runtime {

inline kvcache::CacheKey cache_key(ChatId chat) {
  return {.name = "chat " + std::to_string(chat.value), .owner = chat.value};
}

}  // namespace satchel::runtime
