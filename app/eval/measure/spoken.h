// What a chat's session answers, judged elsewhere: greedy, at most so many tokens.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

#include "kernels/base/result.h"
#include "runtime/session/session.h"

namespace satchel::eval {

// An answer that the context cut short counts as far as it came.
struct Spoken {
  std::string text;
  std::size_t context_tokens = 0;  // of the chat when the answer began
  bool cut = false;                // the context had no room for it, or not for all of it
};
//   errors  cancelled/STOPPED, CACHE_FULL; those of Session, but for CONTEXT_FULL
Result<Spoken> say(runtime::Session& session, const std::string& text, std::size_t n_tokens_max,
                   const std::stop_token& stop);

// False where the context had no room for what was added.
template <class Added>
Result<bool> fits_context(const Result<Added>& added) {
  if (!added.ok() && added.error().code == "CONTEXT_FULL") return false;
  SATCHEL_TRY(added);
  return true;
}

}  // namespace satchel::eval
