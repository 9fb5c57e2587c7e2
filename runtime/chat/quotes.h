// Where an answer repeats a document word for word.
//   quote    a run of kQuoteWords words that both have; or one with kMarkedQuoteWords of them in
//            quotation marks, with which the answer itself says that they are another's. Words are
//            compared in any case; white space, punctuation, dashes and Markdown are not compared
//            (runtime/tokenizer/words.h). Page marks of the document do not break a run
//   choice   longest first, and none over another: what a longer one has of it, it gives up. Of
//            equal passages the first in the documents
//   how      the answers' words as a suffix automaton, along which each document is led once
//   cost     linear in both. Memory in proportion to the answers, whatever the documents' size, but
//            for that of for_each_placed_word()
//   limits   a word that a line's end cut in two ("exam-\nple") is two; in scripts without spaces a
//            letter counts as a word
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "kernels/base/index_range.h"
#include "kernels/base/result.h"

namespace satchel::runtime {

// Few texts share so many by chance. Measured 2026-11-29: of the 86,000 words of this project's
// documents 8 in 10,000 begin a run of five words that Vim's manual (1.5 million words) has, too,
// and none a run of seven. Eight leave a margin; five need the answer's own word for it.
inline constexpr std::size_t kQuoteWords = 8, kMarkedQuoteWords = 5;

struct Quote {
  std::size_t answer = 0;    // index
  IndexRange said;           // in it, in bytes, from the first word to the last
  std::size_t document = 0;  // index
  IndexRange passage;        // in its text, likewise
  std::size_t page = 0;      // where it begins, from 1; 0: not known
};

// In the order of the answers.
//   errors  cancelled/STOPPED
Result<std::vector<Quote>> find_quotes(std::span<const std::string_view> answers,
                                       std::span<const std::string_view> documents,
                                       const std::stop_token& stop = {});

}  // namespace satchel::runtime
