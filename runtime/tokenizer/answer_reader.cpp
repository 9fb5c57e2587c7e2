#include "runtime/tokenizer/answer_reader.h"

#include <algorithm>
#include <utility>

namespace satchel::runtime {
namespace {

constexpr std::string_view kSpace = " \t\r\n", kBetweenThoughts = "\n\n";

// How much of the end of `text` could be the beginning of `mark`.
std::size_t begun(std::string_view text, std::string_view mark) {
  std::size_t n = std::min(text.size(), mark.size() - 1);
  while (n > 0 && !mark.starts_with(text.substr(text.size() - n))) --n;
  return n;
}

}  // namespace

AnswerReader::AnswerReader(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                           bool opened)
    : tokenizer_(&tokenizer),
      template_(&chat_template),
      begin_(chat_template.think_begin()),
      end_(chat_template.think_end()),
      answer_(chat_template.answer_begin()),
      decoder_(tokenizer),
      state_(opened ? State::thinking : State::beginning) {}

AnswerReader::Said AnswerReader::push(TokenId token) {
  std::string text = decoder_.push(token);
  const std::string_view spelling = tokenizer_->spelling(token);
  // Files list marks as text or as control tokens; the latter decode to nothing.
  const bool is_mark = (state_ != State::answering && template_->is_in_mark(spelling)) ||
                       template_->is_tool_mark(spelling);
  if (text.empty() && is_mark) {
    text = decoder_.finish();
    text += spelling;
  }
  const bool was_thinking = is_thinking();
  Said said = read(text);
  ++n_undecided_;
  if (state_ == State::beginning) return said;
  const bool thought = was_thinking || state_ != State::answering;
  (thought ? n_thought_ : n_answer_) += std::exchange(n_undecided_, 0);
  return said;
}

AnswerReader::Said AnswerReader::finish() {
  Said said = read(decoder_.finish());
  if (state_ == State::thinking) {
    if (held_.find_first_not_of(kSpace) != std::string::npos) said.thought += held_;
  } else if (state_ != State::after_thoughts) {
    said.answer += held_;
  }
  held_.clear();
  n_answer_ += std::exchange(n_undecided_, 0);
  return said;
}

AnswerReader::Said AnswerReader::read(std::string_view text) {
  held_ += text;
  Said said;
  for (;;) {
    if (state_ == State::beginning && !leave_beginning()) return said;
    if (state_ != State::thinking) break;
    if (!leave_thoughts(said.thought)) return said;
  }
  if (state_ == State::after_thoughts) {
    drop_leading_space();
    if (held_.empty()) return said;
    state_ = State::answering;
  }
  said.answer = std::exchange(held_, {});
  return said;
}

// False while it cannot be told yet.
bool AnswerReader::leave_beginning() {
  const std::size_t first = held_.find_first_not_of(kSpace);
  if (first == std::string::npos) return false;
  const std::string_view said = std::string_view(held_).substr(first);
  for (const std::string_view mark : {begin_, answer_})
    if (said.size() < mark.size() && mark.starts_with(said)) return false;
  if (!answer_.empty() && said.starts_with(answer_)) {
    held_.erase(0, first + answer_.size());
    state_ = State::after_thoughts;
    return true;
  }
  if (!said.starts_with(begin_)) {
    state_ = State::answering;
    return true;
  }
  held_.erase(0, first + begin_.size());
  state_ = State::thinking;
  return true;
}

// False while they go on.
bool AnswerReader::leave_thoughts(std::string& thought) {
  if (at_thoughts_) drop_leading_space();
  at_thoughts_ = at_thoughts_ && held_.empty();
  const std::size_t mark = held_.find(end_);
  const bool ended = mark != std::string::npos;
  // The end mark and white space before it are kept back until something else follows.
  const std::size_t body = ended ? mark : held_.size() - begun(held_, end_);
  const std::size_t last = std::string_view(held_).substr(0, body).find_last_not_of(kSpace);
  const std::size_t n = last == std::string::npos ? 0 : last + 1;
  if (n > 0) thought += std::exchange(is_apart_, false) ? kBetweenThoughts : "";
  thought += held_.substr(0, n);
  held_.erase(0, ended ? mark + end_.size() : n);
  if (!ended) return false;
  state_ = answer_.empty() ? State::after_thoughts : State::beginning;
  at_thoughts_ = is_apart_ = true;
  return true;
}

void AnswerReader::drop_leading_space() {
  held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
}

}  // namespace satchel::runtime
