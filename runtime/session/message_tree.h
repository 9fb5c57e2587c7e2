// MessageTree: all that a chat ever had. Messages that follow the same one are versions of each
// other: what an edit or another answer left, and what it made.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/session/message.h"

namespace satchel::runtime {

// A message of the chat that has others in its place.
struct MessageVersions {
  MessageId message;
  std::vector<MessageId> versions;  // oldest first; the message is one of them

  friend bool operator==(const MessageVersions&, const MessageVersions&) = default;
};

class MessageTree {
 public:
  explicit MessageTree(std::vector<MessageLink> links) : links_(std::move(links)) {}

  // Of the messages that have more than one, in order.
  std::vector<MessageVersions> versions_of(std::span<const SessionMessage> messages) const;
  // Where the chat ended last that had this message: the newest of all that follow it.
  //   errors  MESSAGE_NOT_FOUND
  Result<MessageId> end_of(MessageId message) const;

 private:
  std::vector<MessageLink> links_;
};

}  // namespace satchel::runtime
