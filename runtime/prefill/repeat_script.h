// Makes the token ids that have a model repeat a text, for recipes with a second pass.
//   source  arXiv:2505.23416 (KVzip) section 3.2
#pragma once

#include "runtime/prefill/prefill_text.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// As a user's turn, as the template writes it.
Result<RepeatScript> chat_script(const Tokenizer& tokenizer, const ChatTemplate& chat_template);
// Raw text has no turns: the instruction stands between two lines.
Result<RepeatScript> raw_script(const Tokenizer& tokenizer);

}  // namespace satchel::runtime
