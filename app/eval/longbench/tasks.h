// The datasets of LongBench: how each is asked and judged. Prompts, lengths of answers and rules
// are the published ones, misspellings included: they are part of what was measured.
//   source   arXiv:2308.14508; THUDM/LongBench, config/dataset2prompt.json, dataset2maxlen.json
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "app/eval/longbench/metrics.h"

namespace satchel::eval::longbench {

// What of an answer can count.
enum class Judged {
  all,
  first_line,  // empty lines before it do not
  code_line,   // the first that is no comment (metrics.h)
};

struct Dataset {
  std::string_view name;  // as in the files: "hotpotqa"
  // metrics.h; nullptr: classification(), which takes the classes as well.
  double (*metric)(std::string_view said, std::string_view truth) = nullptr;
  std::size_t n_answer_tokens = 0;  // at most
  std::string_view prompt;          // with {context} and, after it, mostly {input}
  Judged judged = Judged::all;
  // In the model's chat format. Examples to go on from and code are given as they are.
  bool as_chat = true;
};

// By name. LongBench-E has the same datasets, its files are called hotpotqa_e and so on.
std::span<const Dataset> datasets();
// nullptr: there is none of this name, with or without "_e".
const Dataset* find_dataset(std::string_view name);

// A prompt in two: all up to the end of the context, and what is asked of it.
struct Prompt {
  std::string context, question;
  bool cut = false;  // in the middle
};
Prompt prompt_of(const Dataset& dataset, std::string_view context, std::string_view input);

// No further text can change the score.
bool said_enough(const Dataset& dataset, std::string_view said);
// 0 to 1: the best over the right answers. `classes`: all there are, where the metric is
// classification.
double score(const Dataset& dataset, std::string_view said, std::span<const std::string> answers,
             std::span<const std::string> classes);

}  // namespace satchel::eval::longbench
