// A chat's messages come back from the journal, perhaps under another model than they were written
// with.
#include <algorithm>

#include "kernels/base/assert.h"
#include "runtime/session/transcript.h"

namespace satchel::runtime {

using kvcache::MessageState;
using kvcache::Role;
using kvcache::StoredMessage;

namespace {

constexpr std::size_t kProofBytes = 64;  // chosen: no other vocabulary's ids say these by chance

// The last bytes of a text, white space aside: templates may trim it, documents have a title before
// it that the model was not given.
std::string_view proof_of(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  return text.substr(text.size() - std::min(text.size(), kProofBytes));
}

}  // namespace

bool Transcript::is_ours(const StoredMessage& message) const {
  const bool in_range =
      std::all_of(message.tokens.begin(), message.tokens.end(), [this](TokenId token) {
        return token >= 0 && static_cast<std::size_t>(token) < options_.n_vocabulary;
      });
  if (!in_range) return false;
  // A system text may stand in the first user's turn.
  if (message.role == Role::system && options_.chat_template.system_in_first_turn()) return true;
  return options_.tokenizer.text(message.tokens).find(proof_of(message.text)) != std::string::npos;
}

Result<std::vector<TokenId>> Transcript::made_anew(
    const StoredMessage& message, const std::optional<std::string_view>& system) const {
  const ChatTemplate& chat_template = options_.chat_template;
  if (message.role == Role::system) return chat_template.open_chat(options_.tokenizer, system);
  std::vector<TokenId> out;
  const auto add = [&](const std::vector<TokenId>& part) {
    out.insert(out.end(), part.begin(), part.end());
  };
  const bool is_first_turn = spans_.empty() || spans_.back().role == Role::system;
  if (spans_.empty()) {
    SATCHEL_TRY_ASSIGN(out, chat_template.open_chat(options_.tokenizer, ""));
  } else {
    SATCHEL_TRY_ASSIGN(out, closing());
  }
  if (message.role == Role::user) {
    SATCHEL_TRY_ASSIGN(const std::vector<TokenId> turn,
                       chat_template.user_turn(options_.tokenizer, message.text,
                                               is_first_turn ? system : std::nullopt));
    add(turn);
    return out;
  }
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head,
                     chat_template.assistant_head(options_.tokenizer));
  add(head);
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> text,
                     options_.tokenizer.encode(message.text, SpecialText::as_text));
  add(text);
  if (message.state != MessageState::complete) return out;
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> tail,
                     chat_template.assistant_tail(options_.tokenizer, std::nullopt));
  add(tail);
  return out;
}

Result<std::size_t> Transcript::load() {
  SATCHEL_ASSERT(empty() && options_.journal != nullptr);
  SATCHEL_TRY_ASSIGN(const std::vector<StoredMessage> stored,
                     options_.journal->messages(options_.chat));
  std::optional<std::string_view> system;
  if (!stored.empty()) system = stored[0].role == Role::system ? stored[0].text : "";
  std::size_t n_anew = 0;
  bool was_ours = true;
  for (const StoredMessage& message : stored) {
    if (message.state == MessageState::streaming)
      SATCHEL_TRY(options_.journal->finish(message.id, MessageState::interrupted, {}, {}));
    // An empty text proves nothing: it goes with the message before it.
    if (!message.text.empty() || was_ours) was_ours = is_ours(message);
    std::vector<TokenId> tokens = message.tokens;
    if (!was_ours) {
      SATCHEL_TRY_ASSIGN(tokens, made_anew(message, system));
      ++n_anew;
    }
    append(message.role, tokens);
    spans_.back().cut_off =
        message.role == Role::assistant && message.state != MessageState::complete;
  }
  return n_anew;
}

}  // namespace satchel::runtime
