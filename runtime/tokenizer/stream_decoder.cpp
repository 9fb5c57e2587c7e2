#include "runtime/tokenizer/tokenizer.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::runtime {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

std::string StreamDecoder::push(TokenId token) {
  const std::size_t had = pending_.size();
  tokenizer_->append_piece(token, pending_);
  if (pending_.size() == had) return {};
  if (at_start_ && tokenizer_->adds_space_prefix() && pending_.front() == ' ') pending_.erase(0, 1);
  at_start_ = false;

  // Keep the beginning of a character that the next token may complete: a cut one can only be the
  // last of the text.
  std::size_t whole = 0;
  while (whole < pending_.size()) {
    const Utf8Step step = utf8_step(std::string_view(pending_).substr(whole));
    if (step.form == Utf8Form::cut) break;
    whole += step.bytes;
  }
  std::string out;
  append_utf8(std::string_view(pending_).substr(0, whole), out);
  pending_.erase(0, whole);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  append_utf8(pending_, out);
  pending_.clear();
  at_start_ = true;
  return out;
}

}  // namespace satchel::runtime
