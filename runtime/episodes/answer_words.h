// What the words of an answer tell: which parts of a text they stand in, and whether they deny.
//   telling   a word that says something of its own: it has a digit, or texts at large seldom have
//             it (word_frequency.h)
//   limits    words must be the same, in any case. Denials are those of English
//   cost      linear in the texts
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace satchel::runtime {

class Tokenizer;

// Each once, in alphabetical order, in lower case.
std::vector<std::string> telling_words(std::string_view text, const Tokenizer& tokenizer);

// Whether an answer says only that the text has none ("The notes do not say."), or is empty.
bool denies(std::string_view answer);

struct Answered {
  std::string_view question, answer;
};
// The texts that the answer's own words stand in, rising: its telling words that the question does
// not have. First those that have most of them, and of these most of the question's beside one, in
// a sentence; then those that have half as many of the rest. None where no text has a third of the
// own words: an answer that was made up shares a few with any text.
std::vector<std::size_t> texts_quoted(const Answered& answered, std::span<const std::string> texts,
                                      const Tokenizer& tokenizer);

}  // namespace satchel::runtime
