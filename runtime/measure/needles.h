// Needles: facts in a text, read once under a recipe and asked for afterwards, each on a copy of
// the cache. The questions are not known while the cache is compressed. Raw text, no chat format,
// so that any model can be asked.
//   needs   an Engine that nobody else uses meanwhile
//   errors  MEMORY, CONTEXT_FULL, cancelled/STOPPED, those of tokenizer and model
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::runtime {

struct Needle {
  std::string ask;    // goes on where the context ends: "\n\nThe full name of Ada is Ada"
  std::string value;  // what a right answer begins with: "Corwin"
};
struct NeedleContext {
  std::string text;
  std::vector<Needle> needles;
};

struct NeedleAnswer {
  std::size_t context = 0, needle = 0;
  std::string said;
  bool right = false;
};

// Sums over all contexts; tokens and bytes just after reading, before the first question.
struct NeedleScore {
  std::size_t n_questions = 0, n_right = 0;
  std::size_t n_tokens = 0, n_tokens_min = 0;  // of the contexts; of the shortest
  std::size_t n_kept = 0, n_evicted = 0;       // lane-tokens
  std::size_t bytes = 0, fp16_bytes = 0;       // allocated; of the same tokens in fp16
  std::size_t body_bytes = 0, body_fp16_bytes = 0;
  double read_ms = 0, answer_ms = 0;  // reading with compression; questions and answers
};

struct NeedleTask {
  std::span<const NeedleContext> contexts;
  bool without_contexts = false;                         // asks an empty cache: what can be guessed
  std::function<void(const NeedleAnswer&)> judged = {};  // may be empty
};

// Questions and answers go token by token, so that a recipe has no prompt to compress in them. An
// answer ends where the model ends it, where it is longer than its value by a whole word, or after
// kNeedleTokensMax tokens.
inline constexpr std::size_t kNeedleTokensMax = 12;
Result<NeedleScore> measure_needles(Engine& engine, const kvcache::Recipe& recipe,
                                    const NeedleTask& task, const std::stop_token& stop);

// Whether `value` is the first thing said: blanks may stand before it, no letter after it.
bool says_first(std::string_view said, std::string_view value);

}  // namespace satchel::runtime
