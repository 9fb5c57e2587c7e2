#include "app/documents/text_writer.h"

#include <algorithm>
#include <utility>

namespace satchel::app {

void TextWriter::begin() {
  if (!out_.empty() && n_breaks_ > 0) out_.append(static_cast<std::size_t>(n_breaks_), '\n');
  if (is_spaced_ && n_breaks_ == 0 && !out_.empty() && mark_.empty()) out_ += ' ';
  out_ += std::exchange(mark_, {});
  n_breaks_ = 0;
  is_spaced_ = false;
}

void TextWriter::text(std::string_view words) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find_first_of(kSpace, at), words.size());
    if (end > at) {
      begin();
      out_ += words.substr(at, end - at);
    }
    if (end < words.size()) is_spaced_ = true;
    at = end + 1;
  }
}

void TextWriter::verbatim(std::string_view words) {
  if (words.empty()) return;
  begin();
  out_ += words;
}

void TextWriter::mark(std::string_view words) {
  mark_ += words;
}

void TextWriter::line() {
  n_breaks_ = std::max(n_breaks_, 1);
}

void TextWriter::block() {
  n_breaks_ = 2;
}

std::string TextWriter::take() {
  if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  return std::exchange(out_, {});
}

}  // namespace satchel::app
