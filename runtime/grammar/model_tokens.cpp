#include "runtime/grammar/model_tokens.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/tokenizer/tool_marks.h"

namespace satchel::runtime {

std::shared_ptr<const TokenTrie> token_trie_of(const Tokenizer& tokenizer,
                                               const ChatTemplate& chat_template) {
  std::vector<std::string> texts(tokenizer.size());
  std::vector<TokenId> ends;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    const std::string_view spelling = tokenizer.spelling(token);
    const bool is_tool_mark = chat_template.is_tool_mark(spelling);
    if (tokenizer.ends_turn(token) && !is_tool_mark)
      ends.push_back(token);
    else
      tokenizer.append_piece(token, texts[i]);
    if (texts[i].find(kMarkByte) != std::string::npos) texts[i].clear();  // no text, only a byte
    // AnswerReader reads the marks in either form, too.
    if (texts[i].empty() && chat_template.is_in_mark(spelling))
      texts[i] = spelling;
    else if (texts[i].empty() && is_tool_mark)
      texts[i] = kMarkByte + std::string(spelling);
  }
  return std::make_shared<TokenTrie>(texts, std::move(ends));
}

AnswerOpening opening_of(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                         Thinking thinking) {
  const bool is_thinking = chat_template.opens_thinking(thinking);
  const std::string answer_begin(chat_template.answer_begin());
  const bool may_think = is_thinking || !answer_begin.empty() ||
                         (chat_template.has_thinking_switch() && thinking != Thinking::off);
  return {.think_begin = may_think ? std::string(chat_template.think_begin()) : "",
          .think_end = may_think ? std::string(chat_template.think_end()) : "",
          .answer_begin = answer_begin,
          .is_thinking = is_thinking,
          .drops_space = tokenizer.adds_space_prefix()};
}

}  // namespace satchel::runtime
