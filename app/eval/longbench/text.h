// Text as the metrics of LongBench look at it: code points and their classes. For this folder.
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

}  // namespace satchel::eval::longbench
