#include "runtime/tools/call_reader.h"

#include <algorithm>
#include <iterator>
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
  // No form's call ends within a word.
  constexpr std::string_view kLast = ">t";
  if (in_call_ && delta.find_first_of(kLast) == std::string_view::npos) return read;
  while (in_call_ ? take_call(read) : take_text(read)) {
  }
  held_.erase(0, std::exchange(n_taken_, 0));
  return read;
}

bool CallReader::take_text(Read& read) {
  if (had_call_) n_taken_ += std::min(held().find_first_not_of(kSpace), held().size());
  const std::size_t mark = held().find(form_.begin);
  if (mark != std::string::npos) {
    const std::string_view before = held().substr(0, mark);
    read.said += trimmed_end(before);
    space_ = before.substr(trimmed_end(before).size());
    n_taken_ += mark + form_.begin.size();
    in_call_ = true;
    return true;
  }
  const std::size_t n = held().size() - n_held(held(), form_.begin);
  if (n > 0) had_call_ = false;
  read.said += held().substr(0, n);
  n_taken_ += n;
  return false;
}

bool CallReader::take_call(Read& read) {
  const std::size_t n = form_.end_of(held());
  if (n == std::string_view::npos) return false;
  const std::string_view text = held().substr(0, n);
  had_call_ = read_here(text, read.calls);
  if (!had_call_) ((read.said += space_) += form_.begin) += text;
  n_taken_ += n;
  in_call_ = false;
  return true;
}

bool CallReader::read_here(std::string_view text, std::vector<ToolCall>& calls) const {
  std::vector<ToolCall> read;
  const bool are_calls = form_.read(text, tools_, read) &&
                         (tools_.empty() || std::ranges::all_of(read, [&](const ToolCall& call) {
                            return find_tool(tools_, call.name) != nullptr;
                          }));
  if (are_calls) std::ranges::move(read, std::back_inserter(calls));
  return are_calls;
}

CallReader::Read CallReader::finish() {
  Read read;
  const std::string rest = std::exchange(held_, {});
  // Where it ends with the answer.
  if (in_call_ && read_here(rest, read.calls)) return read;
  read.said = (in_call_ ? space_ + std::string(form_.begin) : "") + rest;
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
