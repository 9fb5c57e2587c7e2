// Texts of about so many tokens, for commands that read one.
#pragma once

#include <cstddef>

#include "app/eval/chat_world/chat_world.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::app {

// `spec` with as many sentences as make about n_tokens, by what 1,000 of them make: the texts of
// the published runs of `eval book`.
Result<eval::BookSpec> of_length(eval::BookSpec spec, std::size_t n_tokens,
                                 const runtime::Tokenizer& tokenizer);

// The same, closer: short texts, too, of which the facts are a large part.
Result<eval::BookSpec> close_to_length(eval::BookSpec spec, std::size_t n_tokens,
                                       const runtime::Tokenizer& tokenizer);

}  // namespace satchel::app
