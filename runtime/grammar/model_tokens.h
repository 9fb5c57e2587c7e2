// What a grammar needs of a model: the bytes of its tokens, and where an answer begins.
#pragma once

#include <memory>

#include "runtime/grammar/grammar.h"
#include "runtime/grammar/token_trie.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// Tokens that only control are never allowed, but the marks around thoughts. Takes a while.
std::shared_ptr<const TokenTrie> token_trie_of(const Tokenizer& tokenizer,
                                               const ChatTemplate& chat_template);
AnswerOpening opening_of(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                         Thinking thinking);

}  // namespace satchel::runtime
