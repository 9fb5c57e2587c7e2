// The words of a text, as a search sees them: what a question is compared by, not what a model
// reads.
//   words     runs of letters, digits and their marks; all else separates, so "Mia's" is two words
//             and "3.5" is, too. Scripts written without spaces (Han, Hiragana, Thai, Lao, Khmer,
//             Myanmar) give a word per letter; Katakana and Hangul are words of several.
//   case      lowered by Unicode's one-to-one mapping (PCRE2's tables), whatever the locale
//   differs   no stemming, no Unicode normalisation, no full case folding: "ß" is not "ss", a
//             composed letter is not the decomposed one, and a final sigma is a letter of its own
//   bytes     invalid UTF-8 separates words
//   cost      linear; memory in proportion to the longest stretch without a space or a line end
#pragma once

#include <functional>
#include <string_view>

#include "kernels/base/index_range.h"

namespace satchel::runtime {

// Calls `word` for each word of `text`, in order.
void for_each_word(std::string_view text, const std::function<void(std::string_view word)>& word);

// The same with where it stands in `text`; false: no more words are wanted.
using PlacedWordFn = std::function<bool(std::string_view word, IndexRange place)>;
void for_each_placed_word(std::string_view text, const PlacedWordFn& word);

}  // namespace satchel::runtime
