#include "runtime/session/transcript.h"

#include <algorithm>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/base/size_text.h"
#include "runtime/contract/document_cache.h"
#include "runtime/episodes/document_parts.h"
#include "runtime/episodes/part_title.h"

namespace satchel::runtime {
namespace {

std::string needs_text(std::size_t n_needed) {
  return "This needs " + count_text(n_needed) + " tokens with room for an answer, but ";
}

Error context_full(std::size_t n_needed, std::size_t n_left, std::size_t n_context) {
  return Error{ErrorKind::out_of_memory,
               "CONTEXT_FULL",
               needs_text(n_needed) + count_text(n_left) + " of the model's " +
                   count_text(n_context) +
                   " are left. Nothing was sent. Compact and Extreme go on beyond the context; "
                   "or shorten it, or use a model with a longer context.",
               {{"n_tokens", n_needed}, {"n_left", n_left}, {"n_context", n_context}}};
}

Error message_too_long(std::size_t n_needed, std::size_t n_most) {
  return Error{ErrorKind::out_of_memory,
               "CONTEXT_FULL",
               needs_text(n_needed) + "this model can read " + count_text(n_most) +
                   " at once. Nothing was sent. Shorten it, or attach it as a document: that is "
                   "read in parts.",
               {{"n_tokens", n_needed}, {"n_left", n_most}}};
}

StoredMessage drafted(Role role, std::string_view text, std::vector<TokenId> tokens) {
  StoredMessage message;
  message.role = role;
  message.text = text;
  message.tokens = std::move(tokens);
  return message;
}

}  // namespace

bool can_be_corrected(const SessionMessage& message) {
  return message.role == Role::user && !message.is_forgotten && !read_part_title(message.title);
}

// Where a template puts the system text into the first user turn, the ids of that text are the
// system message's all the same: it is never compressed, the user's words may be.
Result<std::vector<TokenId>> Transcript::system_tokens(
    const std::optional<TurnText>& system) const {
  const ChatTemplate& chat_template = options_.chat_template;
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> ids,
                     chat_template.open_chat(options_.tokenizer, system, options_.thinking));
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> part,
                     chat_template.system_part(
                         options_.tokenizer, system ? std::optional(system->text) : std::nullopt));
  ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

Result<std::vector<TokenId>> Transcript::user_tokens(const TurnText& text,
                                                     std::optional<std::string_view> system,
                                                     std::optional<TokenId> last) const {
  const ChatTemplate& chat_template = options_.chat_template;
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> ids,
                     chat_template.user_turn(options_.tokenizer, text, system, last));
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> part,
                     chat_template.system_part(options_.tokenizer, system));
  ids.erase(ids.begin(), std::ranges::mismatch(ids, part).in1);
  return ids;
}

Result<std::vector<StoredMessage>> Transcript::draft(const TurnText& text,
                                                     std::span<const StoredMessage> before) const {
  std::vector<StoredMessage> out;
  std::vector<TokenId> tokens;
  if (before.empty()) {
    SATCHEL_TRY_ASSIGN(tokens, closing());
  }
  const auto last = last_token(before.empty() ? tokens : before.back().tokens);
  std::optional<std::string_view> system;
  const std::string& said =
      options_.system ? *options_.system : options_.chat_template.default_system(options_.thinking);
  // Behind a system message alone where the chat's first question was cut.
  if (before.empty() && (empty() || messages_.back().role == Role::system)) system = said;
  if (empty() && before.empty()) {
    SATCHEL_TRY_ASSIGN(tokens, system_tokens(TurnText(said, &options_.system_marks)));
    if (!said.empty()) out.push_back(drafted(Role::system, said, std::exchange(tokens, {})));
  }
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> turn, user_tokens(text, system, last));
  tokens.insert(tokens.end(), turn.begin(), turn.end());
  out.push_back(drafted(Role::user, text.text, std::move(tokens)));
  return out;
}

Result<StoredMessage> Transcript::draft_answer(std::string_view text, const TurnText& written,
                                               std::span<const TokenId> before) const {
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> ids, options_.chat_template.assistant_turn(
                                                   options_.tokenizer, written, options_.thinking,
                                                   ChatTemplate::Given::whole, last_token(before)));
  return drafted(Role::assistant, text, std::move(ids));
}

Result<std::vector<MessageId>> Transcript::add_messages(std::span<const MessageText> messages,
                                                        BeyondContext beyond) {
  std::vector<StoredMessage> drafts;
  for (const MessageText& message : messages) {
    std::vector<StoredMessage> one;
    const TurnText text(message.text, message.marks);
    if (message.role == Role::user) {
      SATCHEL_TRY_ASSIGN(one, draft(text, drafts));
    } else if (message.role == Role::assistant && !(empty() && drafts.empty())) {
      SATCHEL_TRY_ASSIGN(
          one.emplace_back(),
          draft_answer(message.text, text, drafts.empty() ? tokens() : drafts.back().tokens));
    } else {
      return Error{ErrorKind::invalid, "PARAM",
                   "A chat begins with a user's message, then come the user's and the model's."};
    }
    if (beyond == BeyondContext::episodes) SATCHEL_TRY(check_fits(one, beyond));
    drafts.insert(drafts.end(), one.begin(), one.end());
  }
  if (beyond == BeyondContext::ends) SATCHEL_TRY(check_fits(drafts, beyond));
  SATCHEL_TRY_ASSIGN(std::vector<MessageId> ids, commit(drafts));
  ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(messages.size()));
  return ids;
}

Result<MessageId> Transcript::add_user(std::string_view text, BeyondContext beyond) {
  const MessageText message{.role = Role::user, .text = text};
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids, add_messages({&message, 1}, beyond));
  return ids.front();
}

Result<std::vector<MessageId>> Transcript::replace_message(MessageId id, std::string_view text,
                                                           BeyondContext beyond) {
  SATCHEL_TRY(settle());
  SATCHEL_TRY_ASSIGN(const SessionMessage said, find(id));
  if (!can_be_corrected(said))
    return Error{ErrorKind::invalid, "PARAM",
                 "Only what you wrote, or a document that was read in one piece, can be corrected, "
                 "and only while the model has not forgotten it."};
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> follows, stored());
  const auto place = std::ranges::find(messages_, id, &SessionMessage::id);
  follows.erase(follows.begin(), follows.begin() + (place - messages_.begin()) + 1);
  Transcript other = *this;
  other.truncate(said.begin, /*lets_journal_follow=*/true);
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> drafts, other.draft(text, {}));
  drafts.back().kind = said.kind;
  drafts.back().title = said.title;
  if (beyond == BeyondContext::episodes) SATCHEL_TRY(other.check_fits(drafts, beyond));
  drafts.insert(drafts.end(), follows.begin(), follows.end());
  if (beyond == BeyondContext::ends) SATCHEL_TRY(other.check_fits(drafts, beyond));
  std::vector<MessageId> old = {id};
  for (const StoredMessage& message : follows) old.push_back(message.id);
  const auto new_ids = [&](std::span<const MessageId> ids) { return ids.last(old.size()); };
  const auto marks = [&](std::span<const MessageId> ids) {
    Marks all = marks_;
    all.add(marks_.copied(old, new_ids(ids)));
    return all;
  };
  const NoteBeside note{.name = kMarksNote,
                        .text = [&](std::span<const MessageId> ids) { return marks(ids).text(); }};
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids,
                     other.commit(drafts, marks_.empty() ? nullptr : &note));
  other.marks_ = marks(ids);
  other.marks_.show_in(other.messages_);
  take(std::move(other));
  return std::vector<MessageId>(new_ids(ids).begin(), new_ids(ids).end());
}

void Transcript::take(Transcript&& other) {
  tokens_ = std::move(other.tokens_);
  messages_ = std::move(other.messages_);
  marks_ = std::move(other.marks_);
  journal_follows_ = other.journal_follows_;
}

Result<std::vector<StoredMessage>> Transcript::draft_document(
    const Document& document, std::span<const StoredMessage> before) const {
  // A base model would go on behind the word.
  const std::string_view written = options_.chat_template.is_plain() ? "\n\n" : kNoted;
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> turn, draft(document.text, before));
  turn.back().kind = MessageKind::document;
  turn.back().title = document.title;
  SATCHEL_TRY_ASSIGN(turn.emplace_back(), draft_answer(kNoted, written, turn.back().tokens));
  return turn;
}

Result<std::vector<DocumentIds>> Transcript::add_documents(std::span<const Document> documents,
                                                           BeyondContext beyond,
                                                           const std::stop_token& stop) {
  std::vector<StoredMessage> messages;
  std::size_t n_bytes = 0;
  for (const Document& document : documents) {
    if (n_bytes >= kKeptBytes && stop.stop_requested())
      return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    n_bytes += document.text.size();
    SATCHEL_TRY_ASSIGN(const std::vector<StoredMessage> turn, draft_document(document, messages));
    // Each is read by itself where they do not fit together.
    if (beyond == BeyondContext::episodes) SATCHEL_TRY(check_fits(turn, beyond));
    messages.insert(messages.end(), turn.begin(), turn.end());
  }
  if (beyond == BeyondContext::ends) SATCHEL_TRY(check_fits(messages, beyond));
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids, commit(messages));
  std::vector<DocumentIds> out;
  for (std::size_t i = ids.size() - 2 * documents.size(); i < ids.size(); i += 2)
    out.push_back({.document = ids[i], .answer = ids[i + 1]});
  return out;
}

Result<Transcript::Asked> Transcript::add_asked(const Document& document, std::string_view question,
                                                BeyondContext beyond) {
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> messages, draft_document(document, {}));
  SATCHEL_TRY_ASSIGN(const std::vector<StoredMessage> turn, draft(question, messages));
  messages.insert(messages.end(), turn.begin(), turn.end());
  SATCHEL_TRY(check_fits(messages, beyond));
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids, commit(messages));
  return Asked{.document = {.document = ids[ids.size() - 3], .answer = ids[ids.size() - 2]},
               .question = ids.back()};
}

Result<void> Transcript::check_fits(std::span<const StoredMessage> draft,
                                    BeyondContext beyond) const {
  std::size_t n_needed = kLeastAnswerTokens;
  for (const StoredMessage& message : draft) n_needed += message.tokens.size();
  const std::size_t n_left = n_context_left(beyond);
  if (n_needed <= n_left) return {};
  if (beyond == BeyondContext::episodes) return message_too_long(n_needed, n_left);
  return context_full(n_needed, n_left, options_.n_context);
}

std::string Transcript::hash_of(const StoredMessage& message) {
  const bool has_words =
      message.kind == MessageKind::document && message.state == MessageState::complete;
  return has_words ? document_hash(message.text) : "";
}

Result<std::vector<MessageId>> Transcript::store(std::span<const NewMessage> rows,
                                                 const NoteBeside* note) {
  SATCHEL_TRY(settle());
  std::vector<MessageId> ids;
  if (options_.journal != nullptr) {
    SATCHEL_TRY_ASSIGN(
        ids, options_.journal->append_behind(options_.chat, journal_follows_, rows, note));
  }
  journal_follows_.reset();
  while (ids.size() < rows.size())
    ids.push_back({static_cast<std::int64_t>(messages_.size() + ids.size() + 1)});
  return ids;
}

Result<std::vector<MessageId>> Transcript::commit(std::span<const StoredMessage> draft,
                                                  const NoteBeside* note) {
  std::vector<NewMessage> rows;
  for (const StoredMessage& message : draft)
    rows.push_back({.role = message.role,
                    .state = message.state,
                    .text = message.text,
                    .tokens = message.tokens,
                    .kind = message.kind,
                    .title = message.title,
                    .tokenizer = options_.tokenizer.hash()});
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids, store(rows, note));
  for (std::size_t i = 0; i < ids.size(); ++i)
    append({.id = ids[i],
            .role = draft[i].role,
            .kind = draft[i].kind,
            .state = draft[i].state,
            .title = draft[i].title,
            .text_hash = hash_of(draft[i]),
            .text = options_.journal == nullptr ? draft[i].text : ""},
           draft[i].tokens);
  return ids;
}

std::size_t Transcript::n_context_left(BeyondContext beyond) const {
  std::size_t n_stays = tokens_.size();
  if (beyond == BeyondContext::episodes && !empty())
    n_stays = messages_.front().role == Role::system ? messages_.front().end : 0;
  return options_.n_context - std::min(options_.n_context, n_stays);
}

Result<SessionMessage> Transcript::find(MessageId id) const {
  const auto found = std::ranges::find(messages_, id, &SessionMessage::id);
  if (found != messages_.end()) return *found;
  return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND",
               "This chat has no message " + std::to_string(id.value) + "."};
}

AnswerReader Transcript::answer_reader() const {
  const ChatTemplate& chat_template = options_.chat_template;
  return {options_.tokenizer, chat_template, chat_template.opens_thinking(options_.thinking)};
}

Result<std::vector<TokenId>> Transcript::answer_head() const {
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> tokens, closing());
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head,
                     options_.chat_template.assistant_head(options_.tokenizer, options_.thinking,
                                                           last_token(tokens)));
  tokens.insert(tokens.end(), head.begin(), head.end());
  return tokens;
}

std::optional<TokenId> Transcript::last_token(std::span<const TokenId> more) const {
  if (!more.empty()) return more.back();
  return tokens_.empty() ? std::nullopt : std::optional(tokens_.back());
}

Result<std::vector<TokenId>> Transcript::answer_tail() const {
  return options_.chat_template.assistant_tail(options_.tokenizer, last_token());
}

Result<void> Transcript::begin_answer(std::span<const TokenId> head) {
  const NewMessage row{.role = Role::assistant,
                       .state = MessageState::streaming,
                       .text = {},
                       .tokens = head,
                       .tokenizer = options_.tokenizer.hash()};
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids, store({&row, 1}));
  append({.id = ids.front(), .role = row.role, .state = row.state, .title = {}}, head);
  answer_ = ids.front();
  return {};
}

// Owed until the journal has it.
void Transcript::extend(std::string_view text, std::span<const TokenId> tokens) {
  SATCHEL_ASSERT(answer_.has_value());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  messages_.back().end = tokens_.size();
  if (options_.journal == nullptr) messages_.back().text += text;
  owed_text_ += text;
  owed_tokens_.insert(owed_tokens_.end(), tokens.begin(), tokens.end());
}

Result<void> Transcript::extend_answer(std::string_view text, std::span<const TokenId> tokens) {
  extend(text, tokens);
  if (options_.journal != nullptr)
    SATCHEL_TRY(options_.journal->extend(*answer_, owed_text_, owed_tokens_));
  owed_text_.clear();
  owed_tokens_.clear();
  return {};
}

Result<void> Transcript::finish_answer(MessageState state, std::string_view text,
                                       std::span<const TokenId> tokens) {
  extend(text, tokens);
  messages_.back().state = state;
  return settle();
}

Result<void> Transcript::settle() {
  if (!answer_) return {};
  SessionMessage& answer = messages_.back();
  if (answer.state == MessageState::streaming) answer.state = MessageState::interrupted;
  if (options_.journal != nullptr)
    SATCHEL_TRY(options_.journal->finish(*answer_, answer.state, owed_text_, owed_tokens_));
  answer_.reset();
  owed_text_.clear();
  owed_tokens_.clear();
  return {};
}

bool Transcript::cut_off() const {
  if (messages_.empty() || messages_.back().role != Role::assistant) return false;
  const MessageState state = messages_.back().state;
  return state == MessageState::streaming || state == MessageState::interrupted;
}

Result<std::vector<TokenId>> Transcript::closing() const {
  if (!cut_off()) return std::vector<TokenId>{};
  return answer_tail();
}

void Transcript::append(SessionMessage message, std::span<const TokenId> tokens) {
  message.begin = tokens_.size();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  message.end = tokens_.size();
  messages_.push_back(std::move(message));
}

void Transcript::truncate(std::size_t end, bool lets_journal_follow) {
  SATCHEL_ASSERT(!answer_);
  while (!messages_.empty() && messages_.back().end > end) messages_.pop_back();
  tokens_.resize(end);
  journal_follows_.reset();
  if (lets_journal_follow) journal_follows_ = messages_.empty() ? MessageId{} : messages_.back().id;
}

}  // namespace satchel::runtime
