// The metrics of LongBench: what an answer is worth beside one of the right answers, 0 to 1. They
// follow the published evaluation to its details, so that scores can be set beside published ones.
//   source   arXiv:2308.14508, table 1 and section 4; its evaluation code, and the packages `rouge`
//            1.0.1 (ROUGE-L over the union of longest common subsequences, F with beta 1) and
//            `fuzzywuzzy` 0.18 without `python-Levenshtein` (difflib's ratio, autojunk included)
//   differs  Chinese is cut into characters, runs of ASCII letters and digits staying whole, where
//            the authors cut it into words with jieba: f1_chinese and rouge_l_chinese come out
//            higher or lower than theirs by a few points and must not be compared with them
//   text     UTF-8; bytes that are none count as one character each
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace satchel::eval::longbench {

// F1 over the words, as bags: lower case, without punctuation and the articles a, an, the.
double f1(std::string_view said, std::string_view truth);
double f1_chinese(std::string_view said, std::string_view truth);

// Sentences end at "."; 0 where either has none.
double rouge_l(std::string_view said, std::string_view truth);
double rouge_l_chinese(std::string_view said, std::string_view truth);

// The classes whose names stand in the answer share one point, if the right one is among them. Of
// names that are a part of the right one the first of each pair in a row is left out, which is
// what the published code does.
double classification(std::string_view said, std::string_view truth,
                      std::span<const std::string> classes);

// Of all numbers in the answer, the share that is the right one: the truth, or the paragraph it
// names ("Paragraph 12", "段落12"; 0 where it names none). ASCII digits.
double count(std::string_view said, std::string_view truth);
double retrieval(std::string_view said, std::string_view truth);
double retrieval_chinese(std::string_view said, std::string_view truth);

// The first line that holds no "`", "#" and "//" beside the right line: 2 · matching characters /
// all characters, in hundredths.
double code_similarity(std::string_view said, std::string_view truth);
bool is_code(std::string_view line);  // it holds none of them

}  // namespace satchel::eval::longbench
