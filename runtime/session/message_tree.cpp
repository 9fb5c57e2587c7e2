#include "runtime/session/message_tree.h"

#include <algorithm>
#include <map>
#include <set>
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
  // In order of sequence what follows a message stands behind it, and the newest last.
  std::set<MessageId> path = {message};
  MessageId end = message;
  for (const MessageLink& link : links_)
    if (path.contains(link.parent) && link.parent.value != 0) path.insert(end = link.id);
  return end;
}

}  // namespace satchel::runtime
