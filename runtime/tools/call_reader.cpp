#include "runtime/tools/call_reader.h"

#include <algorithm>
#include <utility>

#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

// How many of the last bytes may belong to a call: the beginning of its mark, and white space.
std::size_t n_held(std::string_view text, std::string_view begin) {
  std::size_t n = std::min(text.size(), begin.size() - 1);
  while (n > 0 && !text.ends_with(begin.substr(0, n))) --n;
  return text.size() - trimmed_end(text.substr(0, text.size() - n)).size();
}

}  // namespace

CallReader::Read CallReader::push(std::string_view delta) {
  Read read;
  held_ += delta;
  // Every form's end ends with this character.
  if (in_call_ && delta.find('>') == std::string_view::npos) return read;
  while (in_call_ ? take_call(read) : take_text(read)) {
  }
  return read;
}

bool CallReader::take_text(Read& read) {
  const std::size_t mark = held_.find(form_.begin);
  if (mark != std::string::npos) {
    read.said += trimmed_end(std::string_view(held_).substr(0, mark));
    held_.erase(0, mark + form_.begin.size());
    in_call_ = true;
    return true;
  }
  if (had_call_) held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
  const std::size_t n = held_.size() - n_held(held_, form_.begin);
  if (n > 0) had_call_ = false;
  read.said += held_.substr(0, n);
  held_.erase(0, n);
  return false;
}

bool CallReader::take_call(Read& read) {
  const std::size_t n = form_.end_of(held_);
  if (n == std::string_view::npos) return false;
  const std::string text = held_.substr(0, n);
  if (!form_.read(text, tools_, read.calls)) read.said += std::string(form_.begin) + text;
  held_.erase(0, n);
  in_call_ = false;
  had_call_ = true;
  return true;
}

CallReader::Read CallReader::finish() {
  Read read;
  const std::string rest = std::exchange(held_, {});
  // Where it ends with the answer.
  if (in_call_ && form_.read(rest, tools_, read.calls)) return read;
  read.said = (in_call_ ? std::string(form_.begin) : "") + rest;
  return read;
}

std::optional<CallReader::Read> read_calls(std::string_view answer, const ToolForm& form,
                                           std::span<const Tool> tools) {
  if (answer.find(form.begin) == std::string_view::npos) return std::nullopt;
  CallReader reader(form, tools);
  CallReader::Read read = reader.push(answer);
  CallReader::Read rest = reader.finish();
  read.said += rest.said;
  for (ToolCall& call : rest.calls) read.calls.push_back(std::move(call));
  if (read.calls.empty()) return std::nullopt;
  return read;
}

}  // namespace satchel::runtime
