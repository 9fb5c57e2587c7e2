// How often a word stands in texts at large, as a model's vocabulary tells it. A few episodes
// cannot tell "does", which happens to stand in one of them, from a name.
//   source   pieces are merged in the order of their frequency in the tokenizer's training text, so
//            a piece's id is about its rank; Zipf's law makes a frequency of a rank
//   limits   words of several pieces all count as the rarest; what is said holds for the language
//            of the training text
#pragma once

#include <string_view>

#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

// The share of a text's words that are this one. `word`: in lower case. More than 0.
double word_frequency(std::string_view word, const Tokenizer& tokenizer);

}  // namespace satchel::runtime
