// PartNotes: what each part of a chat that is longer than the model's context says to a question:
// each is asked by itself, in a fork of the cache that sees the system prompt and that part alone.
//   parts    the episodes, and the near text as the last; not what was noted so before
//   notes    short answers, greedy, without thoughts. A part that denies, or none of whose telling
//            words stand in its answer, says nothing
//   changes  nothing of the chat but what is in reach, and what is lowered where memory is full
//   errors   cancelled/STOPPED, CACHE_FULL, CONTEXT_FULL, those of model and cache
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/index_range.h"
#include "runtime/session/chat_prefill.h"

namespace satchel::runtime {

// The tokens of one note. Chosen: a sentence or two.
inline constexpr std::size_t kNoteTokensMost = 48, kNoteTokensLeast = 16;

class PartNotes {
 public:
  PartNotes(const ChatParts& parts, ChatPrefill& prefill) : parts_(parts), prefill_(prefill) {}

  struct Notes {
    std::size_t n_parts = 0;  // asked
    // "Part 3 of 12: …", a line each of those that say something, as many as a quarter of the
    // context has room for. Numbers as Past::episodes() has them.
    std::string text = {};
  };
  // Empty where the chat is not longer than the context.
  Result<Notes> take(std::string_view question, const std::stop_token& stop,
                     const ProgressFn& progress);

 private:
  struct Question {
    std::string_view text;
    std::size_t n_tokens;         // of its turn and the answer's head
    std::size_t n_answer_tokens;  // at most
  };
  struct Part {
    IndexRange text;
    std::string name;
  };
  // All but what parts said to an earlier question.
  std::vector<Part> parts_to_ask() const;
  Result<std::string> ask(const IndexRange& part, const Question& question,
                          const std::stop_token& stop) const;
  // The chat's tokens, and the question behind them.
  Result<std::vector<TokenId>> asked_tokens(std::string_view question, bool is_near) const;
  Result<std::string> answer(kvcache::Cache& fork, std::span<float> logits, std::size_t n_most,
                             const std::stop_token& stop) const;
  bool says_something(std::string_view note, const IndexRange& part,
                      std::string_view question) const;

  ChatParts parts_;
  ChatPrefill& prefill_;
};

}  // namespace satchel::runtime
