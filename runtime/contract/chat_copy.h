// ChatCopy: a chat apart from any store, beside its cache: what a session gives away, and another
// one of the same model is made from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/contract/chat_store.h"

namespace satchel::runtime {

struct ChatCopy {
  ChatSetup setup = {};
  // In order; their ids, parents, models and times mean nothing. None is streaming or damaged.
  std::vector<StoredMessage> messages = {};
  std::map<std::string, std::string, std::less<>> notes = {};  // as Journal::note has them, by name
};

// The key of a copy's cache in its records.
inline kvcache::CacheKey copy_key() {
  return kvcache::CacheKey::named("chat");
}

}  // namespace satchel::runtime
