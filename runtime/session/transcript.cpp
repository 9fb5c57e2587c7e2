#include "runtime/session/transcript.h"

#include "kernels/base/assert.h"

namespace satchel::runtime {

using kvcache::MessageId;
using kvcache::MessageState;
using kvcache::Role;

std::size_t Draft::n_tokens() const {
  std::size_t n = 0;
  for (const Message& message : messages) n += message.tokens.size();
  return n;
}

Result<Draft> Transcript::draft(std::string_view text, std::string_view shown,
                                std::optional<std::string_view> answer) const {
  const ChatTemplate& chat_template = options_.chat_template;
  Draft out;
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> tokens, closing());
  std::optional<std::string_view> system;
  bool system_is_new = false;
  if (empty()) {
    if (options_.system) system = *options_.system;
    SATCHEL_TRY_ASSIGN(tokens, chat_template.open_chat(options_.tokenizer, system));
    const std::string said(system.value_or(chat_template.default_system()));
    system_is_new = true;
    if (!said.empty()) {
      out.messages.push_back({.role = Role::system, .text = said, .tokens = std::move(tokens)});
      tokens.clear();
    }
  }
  SATCHEL_TRY_ASSIGN(
      const std::vector<TokenId> turn,
      chat_template.user_turn(options_.tokenizer, text, system_is_new ? system : std::nullopt));
  tokens.insert(tokens.end(), turn.begin(), turn.end());
  out.messages.push_back(
      {.role = Role::user, .text = std::string(shown), .tokens = std::move(tokens)});
  if (answer) {
    SATCHEL_TRY_ASSIGN(std::vector<TokenId> given,
                       chat_template.assistant_turn(options_.tokenizer, *answer));
    out.messages.push_back(
        {.role = Role::assistant, .text = std::string(*answer), .tokens = std::move(given)});
  }
  return out;
}

Result<MessageId> Transcript::commit(const Draft& draft) {
  SATCHEL_TRY(settle());
  MessageId of_user;
  for (const Draft::Message& message : draft.messages) {
    MessageId id{static_cast<std::int64_t>(spans_.size() + 1)};
    if (options_.journal != nullptr) {
      SATCHEL_TRY_ASSIGN(id,
                         options_.journal->append(options_.chat, {.role = message.role,
                                                                  .state = MessageState::complete,
                                                                  .text = message.text,
                                                                  .tokens = message.tokens}));
    }
    append(message.role, message.tokens);
    if (message.role == Role::user) of_user = id;
  }
  return of_user;
}

Result<std::vector<TokenId>> Transcript::answer_head() const {
  SATCHEL_TRY_ASSIGN(std::vector<TokenId> tokens, closing());
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head,
                     options_.chat_template.assistant_head(options_.tokenizer));
  tokens.insert(tokens.end(), head.begin(), head.end());
  return tokens;
}

Result<std::vector<TokenId>> Transcript::answer_tail() const {
  return options_.chat_template.assistant_tail(
      options_.tokenizer, tokens_.empty() ? std::nullopt : std::optional(tokens_.back()));
}

Result<void> Transcript::begin_answer(std::span<const TokenId> head) {
  SATCHEL_TRY(settle());
  MessageId id{static_cast<std::int64_t>(spans_.size() + 1)};
  if (options_.journal != nullptr) {
    SATCHEL_TRY_ASSIGN(id,
                       options_.journal->append(options_.chat, {.role = Role::assistant,
                                                                .state = MessageState::streaming,
                                                                .text = {},
                                                                .tokens = head}));
  }
  append(Role::assistant, head);
  spans_.back().cut_off = true;  // until it is finished as complete
  answer_ = id;
  return {};
}

Result<void> Transcript::extend_answer(std::string_view text, std::span<const TokenId> tokens) {
  SATCHEL_ASSERT(answer_.has_value());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  spans_.back().end = tokens_.size();
  owed_text_ += text;
  owed_tokens_.insert(owed_tokens_.end(), tokens.begin(), tokens.end());
  if (options_.journal != nullptr)
    SATCHEL_TRY(options_.journal->extend(*answer_, owed_text_, owed_tokens_));
  owed_text_.clear();
  owed_tokens_.clear();
  return {};
}

Result<void> Transcript::finish_answer(MessageState state, std::string_view text,
                                       std::span<const TokenId> tokens) {
  SATCHEL_ASSERT(answer_.has_value());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  spans_.back().end = tokens_.size();
  spans_.back().cut_off = state != MessageState::complete;
  owed_text_ += text;
  owed_tokens_.insert(owed_tokens_.end(), tokens.begin(), tokens.end());
  return settle();
}

Result<void> Transcript::settle() {
  if (!answer_) return {};
  if (options_.journal != nullptr) {
    const MessageState state =
        spans_.back().cut_off ? MessageState::interrupted : MessageState::complete;
    SATCHEL_TRY(options_.journal->finish(*answer_, state, owed_text_, owed_tokens_));
  }
  answer_.reset();
  owed_text_.clear();
  owed_tokens_.clear();
  return {};
}

Result<std::vector<TokenId>> Transcript::closing() const {
  if (spans_.empty() || !spans_.back().cut_off) return std::vector<TokenId>{};
  return answer_tail();
}

std::size_t Transcript::message_end(std::size_t at) const {
  for (const Span& span : spans_)
    if (at < span.end) return span.end;
  return tokens_.size();
}

void Transcript::append(Role role, std::span<const TokenId> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  spans_.push_back({.role = role, .end = tokens_.size()});
}

}  // namespace satchel::runtime
