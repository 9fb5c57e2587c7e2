// What a model thinks before an answer: told whether to, and found again in the ids of a chat.
#pragma once

#include <span>

#include "runtime/session/session.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// invalid, THINKING where the template cannot be told so
Result<void> check_thinking(const ChatTemplate& chat_template, Thinking thinking);

// In the ids of one answer, head included; empty where there are none.
Result<Thoughts> thoughts_in(std::span<const TokenId> answer, const Tokenizer& tokenizer,
                             const ChatTemplate& chat_template);

}  // namespace satchel::runtime
