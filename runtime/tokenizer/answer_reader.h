// AnswerReader: tells the thoughts of an answer from what it says, token by token.
//   rule    an answer may begin (white space aside) with thoughts between the template's marks, or
//           inside of them where the head has opened them; what follows is the answer. The marks
//           and the white space beside them are neither. A mark may be one token or several
//   text    what it gives out, put together: whole characters, as StreamDecoder gives them
//   counts  a mark's tokens count with the thoughts; those of a beginning that may yet be one apart,
//           until that is known
//   needs   tokenizer and template outlive it
//   threads one
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace satchel::runtime {

class AnswerReader {
 public:
  struct Said {
    std::string thought, answer;  // either may be ""
  };

  // opened: the head has begun the thoughts (ChatTemplate::opens_thinking).
  AnswerReader(const Tokenizer& tokenizer, const ChatTemplate& chat_template, bool opened);

  Said push(TokenId token);
  Said finish();  // the rest

  bool is_thinking() const { return state_ == State::thinking; }
  std::size_t n_thought_tokens() const { return n_thought_; }
  std::size_t n_answer_tokens() const { return n_answer_; }
  std::size_t n_undecided_tokens() const { return n_undecided_; }

 private:
  enum class State { beginning, thinking, after_thoughts, answering };

  Said read(std::string_view text);
  bool leave_beginning();
  bool leave_thoughts(std::string& thought);
  void drop_leading_space();

  const Tokenizer* tokenizer_;
  std::string_view begin_, end_;  // the marks
  StreamDecoder decoder_;
  State state_;
  std::string held_;         // what the next token may make part of a mark, or of its white space
  bool at_thoughts_ = true;  // nothing was thought yet
  std::size_t n_thought_ = 0, n_answer_ = 0, n_undecided_ = 0;
};

}  // namespace satchel::runtime
