#include "runtime/episodes/word_frequency.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace satchel::runtime {
namespace {

// From 1; that of the rarest if the word is no single piece.
std::size_t frequency_rank(std::string_view word, const Tokenizer& tokenizer) {
  std::size_t rank = tokenizer.size();
  // Some vocabularies hold words behind a space, some add it themselves, Han letters have none.
  for (const std::string& text : {' ' + std::string(word), std::string(word)}) {
    const auto tokens = tokenizer.encode(text, SpecialText::as_text);
    if (tokens.ok() && tokens->size() == 1)
      rank = std::min(rank, static_cast<std::size_t>(tokens->front()) + 1);
  }
  return rank;
}

}  // namespace

double word_frequency(std::string_view word, const Tokenizer& tokenizer) {
  // 1 + 1/2 + 1/3 … + 1/n, about: then all frequencies together are 1.
  const double harmonic = std::log(static_cast<double>(tokenizer.size())) + 0.5772;
  return 1 / (harmonic * static_cast<double>(frequency_rank(word, tokenizer)));
}

}  // namespace satchel::runtime
