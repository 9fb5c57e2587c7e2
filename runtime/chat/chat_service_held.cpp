// How the words of a chat are held.
#include <algorithm>
#include <map>
#include <utility>

#include "runtime/chat/held_text.h"
#include "runtime/chat/service_call.h"

namespace satchel::runtime {
namespace {

// What is behind the last token that the cache has seen is not held.
std::span<const kvcache::HeldToken> part_of(std::span<const kvcache::HeldToken> held,
                                            const SessionMessage& message) {
  const std::size_t end = std::min(held.size(), message.end);
  if (message.begin >= end) return {};
  return held.subspan(message.begin, end - message.begin);
}

struct Stored {
  HeldMessage held;
  std::size_t n_bytes = 0;  // of its text
};

// Of each document in parts one message, as people attached it.
HeldText whole_text(std::span<Stored> stored, const WholeDocuments& whole) {
  HeldText text;
  auto document = whole.parts.begin();
  for (std::size_t i = 0; i < stored.size();) {
    HeldMessage& message = text.messages.emplace_back(std::move(stored[i].held));
    std::size_t n_parts = 1, n_before = stored[i].n_bytes;
    if (document != whole.parts.end() && document->document == message.message)
      n_parts = (document++)->n_parts;
    for (std::size_t part = 1; part < n_parts; ++part) {
      const Stored& next = stored[i + 2 * part];  // each has an answer behind it
      for (const HeldWords& words : next.held.words)
        message.words.push_back(
            {{n_before + words.words.begin, n_before + words.words.end}, words.held});
      n_before += next.n_bytes;
    }
    i += 2 * n_parts - 1;
  }
  return text;
}

}  // namespace

Result<HeldText> ChatService::held(ChatHandle handle, const ChatCall& call) {
  return run<HeldText>(ChatTask::show_held, handle, call,
                       [&](Running& running) -> Result<HeldText> {
                         SATCHEL_TRY_ASSIGN(const OpenChat* const chat, find(handle));
                         HeldText text;
                         if (chat->session() != nullptr) {
                           SATCHEL_TRY_ASSIGN(text, held_now(*chat));
                         }
                         running.tell(text);
                         return text;
                       });
}

Result<HeldText> ChatService::held_now(const OpenChat& chat) {
  Session& session = *chat.session();
  SATCHEL_TRY_ASSIGN(const std::vector<kvcache::HeldToken> held, session.held());
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> stored, stored_of(chat));
  std::map<MessageId, const SessionMessage*> seen;
  for (const SessionMessage& message : session.messages()) seen[message.id] = &message;
  std::vector<Stored> parts;
  for (const StoredMessage& message : stored) {
    Stored& part = parts.emplace_back(Stored{{message.id, {}}, message.text.size()});
    const auto found = seen.find(message.id);
    if (found == seen.end()) continue;
    const SessionMessage& at = *found->second;
    part.held.words =
        held_words(message.text, session.tokens().subspan(at.begin, at.end - at.begin),
                   part_of(held, at), engine()->tokenizer());
  }
  return whole_text(parts, with_whole_documents(std::move(stored)));
}

}  // namespace satchel::runtime
