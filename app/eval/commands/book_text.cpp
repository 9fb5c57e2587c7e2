#include "app/eval/commands/book_text.h"

#include <algorithm>
#include <utility>

namespace satchel::app {
namespace {

// As many sentences as make about n_tokens, if all are as long as those of `spec`.
Result<eval::BookSpec> scaled(eval::BookSpec spec, std::size_t n_tokens,
                              const runtime::Tokenizer& tokenizer) {
  SATCHEL_TRY_ASSIGN(const auto ids,
                     tokenizer.encode(eval::make_book(spec).text, runtime::SpecialText::as_text));
  spec.n_sentences = std::max<std::size_t>(1, n_tokens * spec.n_sentences / ids.size());
  return spec;
}

}  // namespace

Result<eval::BookSpec> of_length(eval::BookSpec spec, std::size_t n_tokens,
                                 const runtime::Tokenizer& tokenizer) {
  spec.n_sentences = 1000;
  return scaled(std::move(spec), n_tokens, tokenizer);
}

Result<eval::BookSpec> close_to_length(eval::BookSpec spec, std::size_t n_tokens,
                                       const runtime::Tokenizer& tokenizer) {
  SATCHEL_TRY_ASSIGN(spec, of_length(std::move(spec), n_tokens, tokenizer));
  for (int again = 0; again < 2; ++again) {  // facts do not grow with the sentences
    SATCHEL_TRY_ASSIGN(spec, scaled(spec, n_tokens, tokenizer));
  }
  return spec;
}

}  // namespace satchel::app
