// A text longer than the model's context, read as a document of a chat that is kept in a library's
// files, and asked about: each question on a copy of the chat, so that none knows of another.
//   needs   two engines of one model, that nobody else uses meanwhile
//   errors  those of Session and storage; cancelled/STOPPED
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/eval/chat_world/chat_world.h"
#include "runtime/engine.h"

namespace satchel::eval {

inline constexpr std::size_t kBookAnswerTokensMax = 32;  // a sentence; chosen, not measured

struct BookAnswer {
  std::string text;
  bool right = false;
  bool in_reach = false;    // the part that has the fact was seen
  bool right_told = false;  // when that part was named
};
struct BookReading {
  std::size_t n_tokens = 0, n_parts = 0;
  double first_part_ms = 0;  // until the first part is read
  double read_ms = 0;        // until all is
  double idle_ms = 0;        // the work behind it
  double save_ms = 0;
  double resume_ms = 0;  // by another engine, from the files
  std::size_t n_reread = 0;
  std::uint64_t disk_bytes = 0;
  kvcache::CacheStats stats;
  double answer_ms = 0;             // median, with choosing and reading the question
  std::vector<BookAnswer> answers;  // in the order of questions
};
Result<BookReading> read_book(runtime::Engine& engine, runtime::Engine& other,
                              const kvcache::Recipe& recipe, const Book& book,
                              std::size_t limit_bytes, std::stop_token stop,
                              const runtime::ProgressFn& progress);

}  // namespace satchel::eval
