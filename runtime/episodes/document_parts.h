// A document cut into parts that a model can read one by one.
//   cover    the parts are the text, byte for byte, in order and without overlap; an empty text has
//            none, and a text that fits is one
//   size     at most n_tokens_max tokens, counted by encoding each part as text, without bos; all
//            near the same size, and none below about a third of the limit if the text is longer
//   where    at the best border within a third of a part from where equal parts would end: a blank
//            line, else a line end, the end of a sentence, white space, at last between characters.
//            A CR LF and a character of UTF-8 are never cut.
//   cost     linear in the text: it is encoded in small stretches once, and each part about once
#pragma once

#include <cstddef>
#include <stop_token>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

struct DocumentPart {
  std::string_view text;  // of the document, which must live longer
  std::size_t n_tokens = 0;
};

// What is never cut is at most four tokens, behind a space of at most three.
constexpr std::size_t kPartTokensLeast = 8;

// A stop counts behind so many bytes only, which take a second at most: a shorter document that was
// given before its reader closed the window is kept. Chosen.
constexpr std::size_t kKeptBytes = 512u << 10;

//   needs   n_tokens_max at least kPartTokensLeast
//   errors  those of Tokenizer::encode; STOPPED
Result<std::vector<DocumentPart>> split_document(std::string_view text, const Tokenizer& tokenizer,
                                                 std::size_t n_tokens_max,
                                                 const std::stop_token& stop = {});

}  // namespace satchel::runtime
