#include "runtime/session/message_tree.h"

#include <algorithm>
#include <map>
#include <string>

namespace satchel::runtime {

std::vector<MessageVersions> MessageTree::versions_of(
    std::span<const SessionMessage> messages) const {
  std::map<MessageId, std::vector<MessageId>> behind;
  for (const MessageLink& link : links_) behind[link.parent].push_back(link.id);
  std::vector<MessageVersions> found;
  MessageId before;
  for (const SessionMessage& message : messages) {
    const std::vector<MessageId>& versions = behind[before];
    if (versions.size() > 1 && std::ranges::count(versions, message.id) == 1)
      found.push_back({.message = message.id, .versions = versions});
    before = message.id;
  }
  return found;
}

Result<MessageId> MessageTree::end_of(MessageId message) const {
  const auto found = std::ranges::find(links_, message, &MessageLink::id);
  if (found == links_.end())
    return Error{
        ErrorKind::not_found, "MESSAGE_NOT_FOUND",
        "The chat has no message " + std::to_string(message.value) + ". Nothing was changed."};
  // What follows a message stands behind it: this ends.
  for (MessageId end = message;;) {
    const auto newest =
        std::ranges::find(links_.rbegin(), links_.rend(), end, &MessageLink::parent);
    if (newest == links_.rend()) return end;
    end = newest->id;
  }
}

}  // namespace satchel::runtime
