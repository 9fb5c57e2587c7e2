// Texts of about so many tokens, for commands that read one.
#pragma once

#include <cstddef>

#include "app/eval/chat_world/chat_world.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::app {

// `spec` with as many sentences as make about n_tokens.
Result<eval::BookSpec> of_length(eval::BookSpec spec, std::size_t n_tokens,
                                 const runtime::Tokenizer& tokenizer);

}  // namespace satchel::app
