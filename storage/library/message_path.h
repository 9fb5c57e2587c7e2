// The messages of a chat where rows were lost or flags changed by themselves: all rows that are
// live, those that they follow, and a place for each that is gone.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "storage/library/library.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {

struct MissingMessage {
  std::int64_t seq = 0;  // it stood before the first message of at least this one
  std::int64_t id = 0;   // below 0: not known
};

struct MessagePath {
  std::set<std::int64_t> ids;           // of rows that are there
  std::vector<MissingMessage> missing;  // in order
};

// What the chat's row says of its messages.
struct MessageCounts {
  std::int64_t last_seq = 0, n_live = 0;
};

// damaged: ids of rows that may say they follow what they do not.
Result<MessagePath> find_path(Connection& db, ChatId chat, const MessageCounts& counts,
                              const std::set<std::int64_t>& damaged);

}  // namespace satchel::storage
