// Asks a model for the needles of a context that was read under a recipe.
//   needs   an Engine that nobody else uses meanwhile
//   errors  MEMORY, CONTEXT_FULL, cancelled/STOPPED, those of tokenizer and model
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "app/eval/needle_tasks/needle.h"
#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval {

struct NeedleAsking {
  // The question, but for its last token, is read and compressed with the context, which is so read
  // anew for each. Else all are asked of one reading, each on a copy of its cache.
  bool question_known = false;
  // The first question is asked before what waits is packed, all others after it.
  bool in_turn = false;
  // One chat: the first question is known as above; each one, and its right answer, whatever was
  // said, stays in the cache in front of the next.
  bool goes_on = false;
  bool without_context = false;  // asks an empty cache: what can be guessed
  bool merges_layers = false;    // PackedTextRequest::merges_layers; not in turn
  std::size_t window = 0;        // PackedTextRequest::window
  // PackedTextRequest's: each question is asked of the text in memory, then of a second reading of
  // it on disk. Not in turn, nor known.
  kvcache::OpenFarStore open_far = {};
  double limit_share = 0;
};
struct NeedleAnswers {
  std::vector<std::string> said;  // to each needle, in their order
  // In nats, of each needle's first value (and a space before it) as the answer.
  std::vector<double> log_probability;
  std::size_t merge_saves = 0;  // of the same reading
  kvcache::CacheStats stats;  // of the first reading, before its first question; in turn, after it
  double read_ms = 0, answer_ms = 0;  // reading with compression; questions and answers
  // On disk: what all above is of, but for these of each needle.
  std::vector<std::string> said_in_memory;
  std::vector<double> speed;  // of what the same question and answer took in memory
};
Result<NeedleAnswers> ask_needles(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                  const NeedleContext& context, const NeedleAsking& asking,
                                  std::stop_token stop);

}  // namespace satchel::eval
