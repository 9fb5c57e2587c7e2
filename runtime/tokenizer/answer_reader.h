// AnswerReader: separates the thinking of a streamed answer from its text, token by token.
//   rule    an answer may begin, after white space, with thoughts between the template's marks, or
//           inside them if the head has opened them; or with the mark of an answer without
//           thoughts. The rest is the answer. Marks and white space next to them are dropped. A
//           mark may be one token or several.
//   calls   of tools are part of the answer, with their marks, also where those are control tokens
//   limits  gpt-oss: a commentary that calls no tool is shown with its marks
//   text    whole characters only, as from StreamDecoder
//   counts  a mark's tokens count as thoughts. Tokens that may begin a mark are counted as
//           undecided until that is known.
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

  // opened: the head has opened the thoughts (ChatTemplate::opens_thinking).
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
  const ChatTemplate* template_;
  std::string_view begin_, end_, answer_;  // the marks; answer_ "": none
  StreamDecoder decoder_;
  State state_;
  std::string held_;         // text that may belong to a mark or its white space
  bool at_thoughts_ = true;  // no thought text yet
  bool is_apart_ = false;    // from thoughts before it
  std::size_t n_thought_ = 0, n_answer_ = 0, n_undecided_ = 0;
};

}  // namespace satchel::runtime
