// Text as the metrics of LongBench look at it, and what they compute of it. For this folder.
//   text.cpp   code points, their classes, words
//   rouge.cpp  ROUGE-L of texts that are cut into words, as the package `rouge` 1.0.1 computes it
//   ratio.cpp  how alike two lines are
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace satchel::eval::longbench {

using Word = std::u32string;

// A byte that is no UTF-8 is a character of its own.
std::u32string code_points(std::string_view utf8);

bool is_space(char32_t c);
bool is_ascii_punctuation(char32_t c);
// What the published code takes out of Chinese answers beside ASCII punctuation.
bool is_chinese_punctuation(char32_t c);
// Letters, digits, ideographs: what has no word border beside its like.
bool is_word_part(char32_t c);
// Latin-1, Greek and Cyrillic as well; other scripts stay as they are.
char32_t to_lower(char32_t c);

// Between white space.
std::vector<Word> words_of(std::u32string_view text);
// Ideograph by ideograph; runs of ASCII letters and digits are one word, white space is none.
std::vector<Word> characters_of(std::u32string_view text);

// Sentences, each of its words.
using Sentences = std::vector<std::vector<Word>>;

// Cut at ".", words between white space. What stands between two full stops and is white space
// only is a sentence of one empty word.
Sentences sentences_of(std::u32string_view text);

// F of: words of `truth` in any of the union of longest common subsequences, sentence by sentence,
// over the distinct words of either. A word counts once however often it comes.
double rouge_l_f(const Sentences& said, const Sentences& truth);

// How alike two lines are: 2 · M / T, M characters in matching blocks found as Ratcliff and
// Obershelp do (the longest, then left and right of it), T characters of both. Python's difflib.
//   autojunk  as difflib: where b has 200 characters or more, those that make up more than 1 % of
//             it begin no block, though a block grows over them
//   cost      |a| · |b| for each block at worst: lines, not files
double matching_ratio(std::u32string_view a, std::u32string_view b);

}  // namespace satchel::eval::longbench
