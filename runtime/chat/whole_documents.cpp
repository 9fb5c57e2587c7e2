#include "runtime/chat/whole_documents.h"

#include <span>
#include <string>
#include <utility>

#include "runtime/episodes/part_title.h"

namespace satchel::runtime {
namespace {

bool is_part(const StoredMessage& message, const PartTitle& wanted) {
  const auto part = read_part_title(message.title);
  return message.kind == MessageKind::document && part && part->document == wanted.document &&
         part->number == wanted.number && part->of == wanted.of;
}

// How many parts the document has that begins there; 0: it does not, or not all of them follow. The
// last one's answer may be missing.
std::size_t parts_from(std::span<const StoredMessage> messages) {
  const auto first = read_part_title(messages.front().title);
  if (!first) return 0;
  const std::size_t n = first->of;
  if (n > (messages.size() + 1) / 2) return 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_part(messages[2 * i], {first->document, i + 1, n})) return 0;
    if (i > 0 && messages[2 * i - 1].role != Role::assistant) return 0;
  }
  return n;
}

StoredMessage whole(std::span<StoredMessage> parts) {
  StoredMessage document = std::move(parts.front());
  document.title = read_part_title(document.title)->document;
  document.tokens.clear();
  for (std::size_t i = 2; i < parts.size(); i += 2) {
    document.text += parts[i].text;
    if (parts[i].state == MessageState::damaged) document.state = MessageState::damaged;
  }
  return document;
}

}  // namespace

WholeDocuments with_whole_documents(std::vector<StoredMessage> stored) {
  WholeDocuments out;
  for (std::size_t i = 0; i < stored.size();) {
    const std::span<StoredMessage> rest = std::span(stored).subspan(i);
    const std::size_t n = parts_from(rest);
    out.messages.push_back(n > 0 ? whole(rest.first(2 * n - 1)) : std::move(stored[i]));
    if (n > 0) out.parts.push_back({.document = out.messages.back().id, .n_parts = n});
    i += n > 0 ? 2 * n - 1 : 1;
  }
  return out;
}

}  // namespace satchel::runtime
