#include "runtime/reading/repeat_script.h"

#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

Result<RepeatScript> RepeatScript::raw(const Tokenizer& tokenizer) {
  RepeatScript script;
  SATCHEL_TRY_ASSIGN(script.first, tokenizer.encode("\n\nRepeat the previous context exactly.\n\n",
                                                    SpecialText::as_text));
  SATCHEL_TRY_ASSIGN(
      script.later,
      tokenizer.encode("\n\nRepeat the part of the previous context exactly, starting with",
                       SpecialText::as_text));
  SATCHEL_TRY_ASSIGN(script.then, tokenizer.encode("\n\n", SpecialText::as_text));
  return script;
}

}  // namespace satchel::runtime
