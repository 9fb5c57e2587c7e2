// Asks a model about a chat that was read under a recipe, message by message, as a live chat reads
// it. Each question is asked on a copy (Session::fork), so that no question knows of another.
//   needs   an Engine that nobody else uses meanwhile
//   errors  MEMORY, CACHE_FULL, cancelled/STOPPED, those of tokenizer and model
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/eval/chat_world/chat.h"
#include "app/eval/measure/spoken.h"
#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval {

// What is done about a chat that is longer than the model's context.
enum class Beyond {
  // What most programs do: the oldest turns are dropped, the system prompt stays, and the rest is
  // read anew, as much of it as leaves room for the longest question and an answer.
  rolling,
  stops,     // the chat is over: nothing is read or answered
  episodes,  // the session goes on: runtime::BeyondContext::episodes
  // As rolling, but the first turn stays too. In place of StreamingLLM (arXiv:2309.17453), which
  // keeps the first four tokens and does not read the rest anew; its authors found that to be no
  // better than reading it anew.
  sinks,
  epicache,  // epicache.h, also where the chat fits
};
inline constexpr std::string_view kBeyondNames[] = {"rolling", "stops", "episodes", "sinks",
                                                    "epicache"};  // as Beyond

inline constexpr std::size_t kChatAnswerTokensMax = 48;  // a sentence or two; chosen, not measured

struct ChatAsking {
  Beyond beyond = Beyond::rolling;
  std::size_t n_context = 0;  // tokens of the model's context that are used; 0: all of it
  // ChatAnswers::held() after reading; 0: as it comes. How much of the text is read (rolling,
  // sinks), or else what the recipe keeps, is searched for it: the nearest that was found.
  double held = 0;
};
struct ChatAnswer {
  Spoken spoken;
  double ms = 0;  // reading the question and answering it
};
struct ChatAnswers {
  std::vector<ChatAnswer> answers;   // to each question, in their order
  std::size_t n_dropped = 0;         // messages
  kvcache::CacheStats stats;         // before the first question; empty where nothing was read
  double read_ms = 0;                // with compression
  std::size_t whole_fp16_bytes = 0;  // of the whole chat; 0 where nothing was read

  // Bytes of K and V that are held, as a share of them: pages as allocated, sinks and tails as far
  // as they are filled. Workspace, which does not grow with a chat, is not counted.
  double held() const {
    return whole_fp16_bytes == 0
               ? 0
               : static_cast<double>(stats.body_bytes + stats.fp16_bytes - stats.body_fp16_bytes) /
                     static_cast<double>(whole_fp16_bytes);
  }
};
Result<ChatAnswers> ask_chat(runtime::Engine& engine, const kvcache::Recipe& recipe,
                             const Chat& chat, const ChatAsking& asking, std::stop_token stop);

}  // namespace satchel::eval
