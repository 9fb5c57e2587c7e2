// A chat's messages come back from the journal, perhaps under another model than they were written
// with; or go to another transcript.
#include <algorithm>

#include "kernels/base/assert.h"
#include "runtime/session/transcript.h"

namespace satchel::runtime {

bool Transcript::has_known_tokens(const StoredMessage& message) const {
  return std::ranges::all_of(message.tokens, [this](TokenId token) {
    return token >= 0 && static_cast<std::size_t>(token) < options_.n_vocabulary;
  });
}

bool Transcript::is_ours(const StoredMessage& message) const {
  // Also of our own: a file may have lost pieces without changing its name.
  if (!has_known_tokens(message)) return false;
  if (message.tokenizer != 0) return message.tokenizer == options_.tokenizer.hash();
  return message.model == options_.model_fingerprint;
}

// Nothing of its words: the beginning of a chat, or the end of a cut answer, that stood in it.
Result<std::vector<TokenId>> Transcript::in_place_of_damaged() const {
  if (empty()) return options_.chat_template.open_chat(options_.tokenizer, "", options_.thinking);
  return closing();
}

Result<std::vector<TokenId>> Transcript::made_anew(
    const StoredMessage& message, const std::optional<std::string_view>& system) const {
  const ChatTemplate& chat_template = options_.chat_template;
  if (message.role == Role::system) return system_tokens(system);
  std::vector<TokenId> out;
  const auto add = [&](const std::vector<TokenId>& part) {
    out.insert(out.end(), part.begin(), part.end());
  };
  const bool is_first_turn = empty() || messages_.back().role == Role::system;
  if (empty()) {
    SATCHEL_TRY_ASSIGN(out, chat_template.open_chat(options_.tokenizer, "", options_.thinking));
  } else {
    SATCHEL_TRY_ASSIGN(out, closing());
  }
  if (message.role == Role::user) {
    SATCHEL_TRY_ASSIGN(
        const std::vector<TokenId> turn,
        user_tokens(message.text, is_first_turn ? system : std::nullopt, last_token(out)));
    add(turn);
    return out;
  }
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> answer,
                     chat_template.assistant_turn(
                         options_.tokenizer, message.text, options_.thinking,
                         message.state == MessageState::complete ? ChatTemplate::Given::whole
                                                                 : ChatTemplate::Given::cut_off,
                         last_token(out)));
  add(answer);
  return out;
}

Result<Transcript::Loaded> Transcript::load() {
  SATCHEL_ASSERT(empty() && options_.journal != nullptr);
  SATCHEL_TRY_ASSIGN(const std::vector<StoredMessage> stored,
                     options_.journal->messages(options_.chat));
  std::optional<std::string_view> system;
  if (!stored.empty()) system = "";
  if (!stored.empty() && stored[0].role == Role::system) system = stored[0].text;
  Loaded loaded;
  for (const StoredMessage& message : stored) {
    MessageState state = message.state;
    if (state == MessageState::streaming) {
      state = MessageState::interrupted;
      SATCHEL_TRY(options_.journal->finish(message.id, state, {}, {}));
    }
    std::vector<TokenId> tokens = message.tokens;
    if (state == MessageState::damaged) {
      SATCHEL_TRY_ASSIGN(tokens, in_place_of_damaged());
      ++loaded.n_damaged;
    } else if (!is_ours(message)) {
      SATCHEL_TRY_ASSIGN(tokens, made_anew(message, system));
      ++loaded.n_anew;
    }
    append({.id = message.id,
            .role = message.role,
            .kind = message.kind,
            .state = state,
            .title = message.title,
            .text_hash = hash_of(message)},
           tokens);
  }
  SATCHEL_TRY_ASSIGN(const auto marks, options_.journal->note(options_.chat, kMarksNote));
  marks_ = Marks::of(marks.value_or(""));
  marks_.show_in(messages_);
  return loaded;
}

Result<void> Transcript::set_marks(Marks marks) {
  if (options_.journal != nullptr)
    SATCHEL_TRY(options_.journal->set_note(options_.chat, kMarksNote, marks.text()));
  marks_ = std::move(marks);
  marks_.show_in(messages_);
  return {};
}

Result<Transcript::Loaded> Transcript::load_again() {
  SATCHEL_ASSERT(!answer_ && owed_tokens_.empty() && owed_text_.empty());
  Transcript other(options_);
  SATCHEL_TRY_ASSIGN(const Loaded loaded, other.load());
  take(std::move(other));
  return loaded;
}

Result<std::vector<StoredMessage>> Transcript::stored() const {
  std::vector<StoredMessage> kept;
  if (options_.journal != nullptr) {
    SATCHEL_TRY_ASSIGN(kept, options_.journal->messages(options_.chat));
  }
  std::vector<StoredMessage> out;
  for (const SessionMessage& message : messages_) {
    const auto found = std::ranges::find(kept, message.id, &StoredMessage::id);
    out.push_back({.id = message.id,
                   .parent = {},
                   .role = message.role,
                   .state = message.state == MessageState::damaged ? MessageState::interrupted
                                                                   : message.state,
                   .kind = message.kind,
                   .title = message.title,
                   .text = found == kept.end() ? message.text : found->text,
                   .tokens = {tokens_.begin() + static_cast<std::ptrdiff_t>(message.begin),
                              tokens_.begin() + static_cast<std::ptrdiff_t>(message.end)},
                   .tokenizer = options_.tokenizer.hash(),
                   .model = {}});
  }
  return out;
}

Result<void> Transcript::restore(std::span<const StoredMessage> messages) {
  SATCHEL_ASSERT(empty());
  for (const StoredMessage& message : messages)
    if (!has_known_tokens(message))
      return Error{ErrorKind::corrupt, "CHAT_DAMAGED",
                   "A message of the chat has a token that this model does not know."};
  if (messages.empty()) return {};
  SATCHEL_TRY(commit(messages));
  return {};
}

}  // namespace satchel::runtime
