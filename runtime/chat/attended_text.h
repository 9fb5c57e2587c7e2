// AttendedText: what the newest answer of a chat looked at, on the chat's own words.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/base/index_range.h"
#include "runtime/contract/journal.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

struct AttendedWords {
  IndexRange words;  // in their message's text, in bytes
  std::size_t n_tokens = 1;
  float share =
      0;  // of the answer's attention, as AttentionPaid says; of all these tokens together
};
struct AttendedMessage {
  MessageId message;
  std::vector<AttendedWords> words;  // in order; what is in none of them has not been read
};
struct AttendedText {
  MessageId answer;           // 0: the model has written none
  std::size_t n_queries = 0;  // tokens of the answer that were looked at; 0: it has not been read
  std::size_t n_tokens = 0;   // of the chat, read
  // In order; of a document that was read in parts one. What is missing from 1 fell on what is not
  // shown: a system prompt, and the marks around messages.
  std::vector<AttendedMessage> messages = {};
};

// As held_words(); shares: of the first of the tokens.
std::vector<AttendedWords> attended_words(std::string_view text, std::span<const TokenId> tokens,
                                          std::span<const float> shares,
                                          const Tokenizer& tokenizer);

}  // namespace satchel::runtime
