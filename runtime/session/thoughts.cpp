#include "runtime/session/thoughts.h"

#include <algorithm>

#include "runtime/tokenizer/answer_reader.h"

namespace satchel::runtime {

Result<void> check_thinking(const ChatTemplate& chat_template, Thinking thinking) {
  if (thinking == Thinking::automatic || chat_template.has_thinking_switch()) return {};
  return Error{
      ErrorKind::invalid, "THINKING",
      "The model's chat template \"" + std::string(chat_template.name()) +
          "\" has no switch for thinking: the model decides. Nothing was changed. Choose auto, or "
          "leave out --think."};
}

Result<Thoughts> thoughts_in(std::span<const TokenId> ids, const Tokenizer& tokenizer,
                             const ChatTemplate& chat_template) {
  // The head says whether they were opened, or turned off. The longer one first: it may begin with
  // the other.
  for (const Thinking thinking : {Thinking::off, Thinking::automatic}) {
    if (thinking == Thinking::off && !chat_template.has_thinking_switch()) continue;
    SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head,
                       chat_template.assistant_head(tokenizer, thinking));
    const auto at = std::search(ids.begin(), ids.end(), head.begin(), head.end());
    if (at == ids.end()) continue;
    if (thinking == Thinking::off) return Thoughts{};
    AnswerReader reader(tokenizer, chat_template, chat_template.opens_thinking(thinking));
    Thoughts thoughts;
    for (auto id = at + static_cast<std::ptrdiff_t>(head.size()); id != ids.end(); ++id)
      thoughts.text += reader.push(*id).thought;
    thoughts.text += reader.finish().thought;
    thoughts.n_tokens = reader.n_thought_tokens();
    return thoughts;
  }
  return Thoughts{};
}

}  // namespace satchel::runtime
