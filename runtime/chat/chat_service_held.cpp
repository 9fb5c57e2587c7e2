// How the words of a chat are held, and what its newest answer looked at.
#include <algorithm>
#include <map>
#include <utility>

#include "runtime/chat/attended_text.h"
#include "runtime/chat/held_text.h"
#include "runtime/chat/service_call.h"
#include "runtime/replay/attention_paid.h"

namespace satchel::runtime {
namespace {

// What is behind the last token that the cache has seen is not held.
template <class T>
std::span<const T> part_of(std::span<const T> all, const SessionMessage& message) {
  const std::size_t end = std::min(all.size(), message.end);
  if (message.begin >= end) return {};
  return all.subspan(message.begin, end - message.begin);
}

// Words: of one message, HeldMessage or AttendedMessage.
template <class Words>
struct MessageWords {
  Words message;
  std::size_t n_bytes = 0;  // of its text
};

// Of each document in parts one message, as people attached it.
template <class Words>
std::vector<Words> whole_messages(std::span<MessageWords<Words>> stored,
                                  const WholeDocuments& whole) {
  std::vector<Words> messages;
  auto document = whole.parts.begin();
  for (std::size_t i = 0; i < stored.size();) {
    Words& message = messages.emplace_back(std::move(stored[i].message));
    std::size_t n_parts = 1, n_before = stored[i].n_bytes;
    if (document != whole.parts.end() && document->document == message.message)
      n_parts = (document++)->n_parts;
    for (std::size_t part = 1; part < n_parts; ++part) {
      MessageWords<Words>& next = stored[i + 2 * part];  // each has an answer behind it
      for (auto& words : next.message.words) {
        words.words = {n_before + words.words.begin, n_before + words.words.end};
        message.words.push_back(std::move(words));
      }
      n_before += next.n_bytes;
    }
    i += 2 * n_parts - 1;
  }
  return messages;
}

// words_of(text, tokens, part of `all`) of each message that the session has.
template <class Words, class T, class WordsOf>
std::vector<Words> each_message(const Session& session, std::vector<StoredMessage> stored,
                                std::span<const T> all, const WordsOf& words_of) {
  std::map<MessageId, const SessionMessage*> seen;
  for (const SessionMessage& message : session.messages()) seen[message.id] = &message;
  std::vector<MessageWords<Words>> parts;
  for (const StoredMessage& message : stored) {
    MessageWords<Words>& part =
        parts.emplace_back(MessageWords<Words>{{message.id, {}}, message.text.size()});
    const auto found = seen.find(message.id);
    if (found == seen.end()) continue;
    const SessionMessage& at = *found->second;
    part.message.words = words_of(
        message.text, session.tokens().subspan(at.begin, at.end - at.begin), part_of(all, at));
  }
  return whole_messages<Words>(parts, with_whole_documents(std::move(stored)));
}

// Of those that the model wrote; 0: there is none.
MessageId newest_answer(const Session& session, std::span<const StoredMessage> stored) {
  for (std::size_t i = stored.size(); i-- > 0;) {
    const StoredMessage& message = stored[i];
    const bool is_answer = message.role == Role::assistant && message.text != kNoted &&
                           message.state != MessageState::damaged;
    if (is_answer && std::ranges::find(session.messages(), message.id, &SessionMessage::id) !=
                         session.messages().end())
      return message.id;
  }
  return {};
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
  const Tokenizer& tokenizer = engine()->tokenizer();
  return HeldText{each_message<HeldMessage, kvcache::HeldToken>(
      session, std::move(stored), held,
      [&tokenizer](std::string_view text, std::span<const TokenId> tokens,
                   std::span<const kvcache::HeldToken> part) {
        return held_words(text, tokens, part, tokenizer);
      })};
}

Result<AttendedText> ChatService::attended(ChatHandle handle, const ChatCall& call) {
  return run<AttendedText>(ChatTask::show_held, handle, call,
                           [&](Running& running) -> Result<AttendedText> {
                             SATCHEL_TRY_ASSIGN(const OpenChat* const chat, find(handle));
                             AttendedText text;
                             if (chat->session() != nullptr) {
                               SATCHEL_TRY_ASSIGN(text, attended_now(*chat, call.stop));
                             }
                             running.tell(text);
                             return text;
                           });
}

Result<AttendedText> ChatService::attended_now(const OpenChat& chat, const std::stop_token& stop) {
  Session& session = *chat.session();
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> stored, stored_of(chat));
  AttendedText text{.answer = newest_answer(session, stored)};
  if (text.answer.value == 0) return text;
  SATCHEL_TRY_ASSIGN(const AttentionPaid paid, session.attention(text.answer, stop));
  text.n_queries = paid.n_queries;
  text.n_tokens = paid.shares.size();
  if (paid.n_queries == 0) return text;
  const Tokenizer& tokenizer = engine()->tokenizer();
  text.messages = each_message<AttendedMessage, float>(
      session, std::move(stored), paid.shares,
      [&tokenizer](std::string_view words, std::span<const TokenId> tokens,
                   std::span<const float> part) {
        return attended_words(words, tokens, part, tokenizer);
      });
  return text;
}

}  // namespace satchel::runtime
