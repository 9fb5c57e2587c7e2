#include "app/eval/commands/book_text.h"

#include <algorithm>

namespace satchel::app {

Result<eval::BookSpec> of_length(eval::BookSpec spec, std::size_t n_tokens,
                                 const runtime::Tokenizer& tokenizer) {
  spec.n_sentences = 1000;
  for (int tries = 0; tries < 3; ++tries) {  // facts do not grow with the sentences
    SATCHEL_TRY_ASSIGN(const auto ids,
                       tokenizer.encode(eval::make_book(spec).text, runtime::SpecialText::as_text));
    spec.n_sentences = std::max<std::size_t>(1, n_tokens * spec.n_sentences / ids.size());
  }
  return spec;
}

}  // namespace satchel::app
