// The keys under which a chat's cache is saved. The names are on disk: kvcache.db knows caches by
// them.
#pragma once

#include <string>

#include "kvcache/snapshot/record_store.h"
#include "runtime/contract/journal.h"

namespace satchel::runtime {

inline kvcache::CacheKey cache_key(ChatId chat) {
  return {.name = "chat " + std::to_string(chat.value), .owner = chat.value};
}

// An episode of a chat that rests: saved beside the chat's own, and dropped with it.
inline kvcache::CacheKey episode_key(const kvcache::CacheKey& chat, std::size_t first) {
  return {.name = chat.name + " from " + std::to_string(first), .owner = chat.owner};
}

}  // namespace satchel::runtime
