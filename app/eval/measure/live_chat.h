// A chat held live, under a fixed limit, and kept in a library's files as a person's chat is: what
// its turns take as it grows, and how it comes back where its process is killed.
//   order   each turn: the message, a greedy answer, idle work, saving, as ChatService does it
//   kill    the files are copied between the answer and the work behind it, when the saved cache is
//           behind the journal, and opened by another engine. The next message is then answered
//           there as well: the answers are to be the same
//   needs   two engines of one model, that nobody else uses meanwhile
//   errors  CACHE_FULL, cancelled/STOPPED, those of storage and Session
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/eval/chat_world/chat.h"
#include "runtime/engine.h"

namespace satchel::eval {

inline constexpr std::size_t kLiveAnswerTokensMax = 48;  // a sentence or two; chosen, not measured

struct LiveSpec {
  std::size_t limit_bytes = 0;      // 0: the engine's default
  std::size_t row_messages = 50;    // of both sides
  std::size_t kill_messages = 100;  // 0: never
};
// The last row_messages of the chat. Times are medians over its turns.
struct LiveRow {
  std::size_t n_messages = 0, n_tokens = 0;    // since the chat began
  std::size_t used_bytes = 0, held_bytes = 0;  // of the arena, the most; of the chat, at the end
  std::uint64_t disk_bytes = 0;
  double read_ms = 0, answer_ms = 0;  // until the answer begins; until it ends, reading included
  double answer_cpu_ms = 0;  // the latter in processor time: what other programs take is not in it
  double idle_ms = 0, save_ms = 0;                    // means: idle work comes once in a while
  std::size_t n_asked = 0, n_right = 0, n_stale = 0;  // stale: an old value in place of the last
};
struct LiveResume {
  std::size_t n_messages = 0;
  std::size_t n_lost = 0;  // messages that are not there, or not as they were
  std::size_t n_reused = 0, n_reread = 0;
  double ms = 0;
  std::string answer, answer_there;  // to the next message: of the chat; of the one that came back
  bool is_same() const { return n_lost == 0 && answer == answer_there; }
};
struct LiveChat {
  std::size_t limit_bytes = 0;
  std::vector<LiveRow> rows;
  std::vector<LiveResume> resumes;
};
Result<LiveChat> hold_live_chat(runtime::Engine& engine, runtime::Engine& other,
                                const kvcache::Recipe& recipe, const Chat& chat,
                                const LiveSpec& spec, std::stop_token stop,
                                const std::function<void(const LiveRow&)>& told);

}  // namespace satchel::eval
