// RepeatScript: what a model is told so that it says a text again, as token ids. A stretch that begins
// in the middle of a text is pointed to by the tokens before it.
//   source  arXiv:2505.23416 (KVzip) section 3.2
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::runtime {

class Tokenizer;

struct RepeatScript {
  std::vector<std::int32_t> first;  // before a stretch that begins a text
  std::vector<std::int32_t> later;  // before the tokens that precede another stretch …
  std::vector<std::int32_t> then;   // … and between them and it

  // For text without a chat format: the instruction stands between two lines.
  static Result<RepeatScript> raw(const Tokenizer& tokenizer);
};
inline constexpr std::size_t kHookTokens = 8;  // as the paper's code

}  // namespace satchel::runtime
