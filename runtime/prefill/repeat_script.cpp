#include "runtime/prefill/repeat_script.h"

#include <algorithm>
#include <string>

namespace satchel::runtime {
namespace {

constexpr std::string_view kRepeat = "Repeat the previous context exactly.";
constexpr std::string_view kRepeatFrom =
    "Repeat the part of the previous context exactly, starting with";

}  // namespace

Result<RepeatScript> chat_script(const Tokenizer& tokenizer, const ChatTemplate& chat_template) {
  RepeatScript script;
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head,
                     chat_template.assistant_head(tokenizer, chat_template.least_thinking()));
  SATCHEL_TRY_ASSIGN(script.first, chat_template.user_turn(tokenizer, kRepeat, std::nullopt));
  script.first.insert(script.first.end(), head.begin(), head.end());
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> turn,
                     chat_template.user_turn(tokenizer, kRepeatFrom, std::nullopt));
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> words,
                     tokenizer.encode(kRepeatFrom, SpecialText::as_text));
  // The hook stands at the end of the instruction, before what closes the turn.
  auto end = std::search(turn.begin(), turn.end(), words.begin(), words.end());
  end = end == turn.end() ? end : end + static_cast<std::ptrdiff_t>(words.size());
  script.later.assign(turn.begin(), end);
  script.then.assign(end, turn.end());
  script.then.insert(script.then.end(), head.begin(), head.end());
  return script;
}

Result<RepeatScript> raw_script(const Tokenizer& tokenizer) {
  const std::string line = "\n\n";
  RepeatScript script;
  SATCHEL_TRY_ASSIGN(script.first,
                     tokenizer.encode(line + std::string(kRepeat) + line, SpecialText::as_text));
  SATCHEL_TRY_ASSIGN(script.later,
                     tokenizer.encode(line + std::string(kRepeatFrom), SpecialText::as_text));
  SATCHEL_TRY_ASSIGN(script.then, tokenizer.encode(line, SpecialText::as_text));
  return script;
}

}  // namespace satchel::runtime
