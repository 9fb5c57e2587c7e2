// What the answers of a chat repeat of its documents.
#include <algorithm>
#include <utility>

#include "runtime/chat/quotes.h"
#include "runtime/chat/service_call.h"

namespace satchel::runtime {
namespace {

// Of all answers that are looked at together, the newest first: find_quotes() takes some 100 times
// as much memory. Chosen; more than an hour's reading.
constexpr std::size_t kAnswerBytesMax = 256u << 10;

// Those that the user gave; the notes on a long chat's parts are the model's own words.
bool is_source(const StoredMessage& message) {
  return message.kind == MessageKind::document && message.state != MessageState::damaged &&
         message.title != kPartNotesTitle;
}

bool is_answer(const StoredMessage& message) {
  return message.role == Role::assistant && message.state != MessageState::damaged &&
         message.text != kNoted;
}

using Messages = std::vector<const StoredMessage*>;

Messages answers_of(const std::vector<StoredMessage>& messages, MessageId wanted) {
  Messages answers;
  std::size_t n_bytes = 0;
  for (std::size_t i = messages.size(); i-- > 0 && n_bytes < kAnswerBytesMax;) {
    if (!is_answer(messages[i]) || (wanted.value != 0 && messages[i].id != wanted)) continue;
    answers.push_back(&messages[i]);
    n_bytes += messages[i].text.size();
  }
  std::ranges::reverse(answers);
  return answers;
}

bool has_documents(const Session& session) {
  return std::ranges::any_of(session.messages(), [](const SessionMessage& message) {
    return message.kind == MessageKind::document;
  });
}

std::vector<std::string_view> texts_of(const Messages& messages) {
  std::vector<std::string_view> texts;
  for (const StoredMessage* message : messages) texts.push_back(message->text);
  return texts;
}

Result<void> add_quotes(const Messages& answers, const Messages& documents,
                        const std::stop_token& stop, QuotesFound& found) {
  if (answers.empty() || documents.empty()) return {};
  SATCHEL_TRY_ASSIGN(const std::vector<Quote> quotes,
                     find_quotes(texts_of(answers), texts_of(documents), stop));
  for (const Quote& quote : quotes) {
    const StoredMessage& document = *documents[quote.document];
    found.quotes.push_back(
        {.answer = answers[quote.answer]->id,
         .said = quote.said,
         .document = document.id,
         .title = document.title,
         .passage = quote.passage,
         .page = quote.page,
         .text = document.text.substr(quote.passage.begin, quote.passage.size())});
  }
  return {};
}

StoredMessage stored(const SessionMessage& message) {
  StoredMessage out;
  out.id = message.id;
  out.role = message.role;
  out.kind = message.kind;
  out.state = message.state;
  out.title = message.title;
  out.text = message.text;
  return out;
}

}  // namespace

// Without a store the session has them.
Result<std::vector<StoredMessage>> ChatService::stored_of(const OpenChat& chat) {
  std::vector<StoredMessage> messages;
  if (chat.is_saved()) {
    SATCHEL_TRY_ASSIGN(messages, store_->library().messages(chat.id()));
  } else if (chat.session() != nullptr) {
    for (const SessionMessage& message : chat.session()->messages())
      messages.push_back(stored(message));
  }
  return messages;
}

Result<std::vector<StoredMessage>> ChatService::words_of(const OpenChat& chat) {
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> messages, stored_of(chat));
  return with_whole_documents(std::move(messages)).messages;
}

Result<QuotesFound> ChatService::quotes(ChatHandle handle, MessageId answer, const ChatCall& call) {
  return run<QuotesFound>(
      ChatTask::find_quotes, handle, call, [&](Running& running) -> Result<QuotesFound> {
        SATCHEL_TRY_ASSIGN(const OpenChat* const chat, find(handle));
        std::vector<StoredMessage> messages;
        if (chat->session() == nullptr || has_documents(*chat->session())) {
          SATCHEL_TRY_ASSIGN(messages, words_of(*chat));
        }
        QuotesFound found{answer, {}};
        const Messages wanted = answers_of(messages, answer);
        Messages documents, answers;  // answers that have seen the same documents
        auto next = wanted.begin();
        for (const StoredMessage& message : messages) {
          if (next != wanted.end() && *next == &message) answers.push_back(*next++);
          if (!is_source(message)) continue;
          SATCHEL_TRY(add_quotes(answers, documents, call.stop, found));
          answers.clear();
          documents.push_back(&message);
        }
        SATCHEL_TRY(add_quotes(answers, documents, call.stop, found));
        running.tell(found);
        return found;
      });
}

}  // namespace satchel::runtime
