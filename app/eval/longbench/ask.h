// Asks a model one example of LongBench under a recipe, as the authors do: the prompt of its
// dataset, cut in the middle to the model's context, in the model's chat format where the dataset
// wants it, greedy, at most so many tokens.
//   source   arXiv:2308.14508, section 4.1; THUDM/LongBench, pred.py
//   differs  an answer ends as soon as nothing more can change its score; on samsum the first token
//            may be a line's end; `question_known` false has no counterpart there
//   needs    an Engine that nobody else uses meanwhile
//   errors   MEMORY, cancelled/STOPPED, those of tokenizer, chat template and model; PARAM where
//            the context is too short for the answer alone
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "app/eval/longbench/tasks.h"
#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval::longbench {

struct Example {
  const Dataset* dataset = nullptr;
  std::string input, context;
  std::vector<std::string> answers, classes;
  std::string id = {};     // in its file
  std::size_t length = 0;  // in words or characters, as its file says
};

struct Asking {
  // The whole prompt is read and compressed, but for its last token: what published scores of cache
  // compression do. False: up to the end of the context; what is asked of it comes after.
  bool question_known = true;
  std::size_t n_tokens_max = 0;  // of a prompt; 0: what the model's context leaves
};

// A prompt as token ids.
struct PromptIds {
  std::vector<std::int32_t> ids;
  std::size_t n_context = 0;  // of them, up to the end of the context; fewer than all
  bool cut = false;           // in the middle
};
Result<PromptIds> prompt_ids(const runtime::Engine& engine, const Example& example,
                             const Asking& asking);

struct Answer {
  std::string said;
  double score = 0;
  bool cut = false;           // the prompt was longer than the context allows
  kvcache::CacheStats stats;  // after reading and packing
  double read_ms = 0, answer_ms = 0;
};
Result<Answer> ask(runtime::Engine& engine, const kvcache::Recipe& recipe, const Example& example,
                   const Asking& asking, std::stop_token stop);

}  // namespace satchel::eval::longbench
