// SessionMessage: one message of a chat as its session holds it. Its words are the journal's.
#pragma once

#include <cstddef>
#include <string>

#include "kvcache/snapshot/journal.h"

namespace satchel::runtime {

struct SessionMessage {
  kvcache::MessageId id;  // the journal's; without a journal counted from 1
  kvcache::Role role = kvcache::Role::user;
  kvcache::MessageKind kind = kvcache::MessageKind::text;
  kvcache::MessageState state = kvcache::MessageState::complete;
  std::string title;               // of a document
  std::size_t begin = 0, end = 0;  // in Session::tokens(); of a damaged one only the template's
};

}  // namespace satchel::runtime
