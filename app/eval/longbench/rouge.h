// ROUGE-L of two texts that are cut into words, as the package `rouge` 1.0.1 computes it. For this
// folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/eval/longbench/text.h"

namespace satchel::eval::longbench {

// Sentences, each of its words.
using Sentences = std::vector<std::vector<Word>>;

// Cut at ".", words between white space. What stands between two full stops and is white space
// only is a sentence of one empty word.
Sentences sentences_of(std::u32string_view text);

// F of: words of `truth` in any of the union of longest common subsequences, sentence by sentence,
// over the distinct words of either. A word counts once however often it comes.
double rouge_l_f(const Sentences& said, const Sentences& truth);

}  // namespace satchel::eval::longbench
