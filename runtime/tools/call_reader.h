// CallReader: separates calls from what is said, as an answer is made. White space beside calls is
// dropped; what is no whole call in the end is text.
//   needs    form and tools outlive it
//   threads  one
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/tool_form.h"

namespace satchel::runtime {

class CallReader {
 public:
  struct Read {
    std::string said;
    std::vector<ToolCall> calls;  // without ids
  };
  explicit CallReader(const ToolForm& form, std::span<const Tool> tools = {})
      : form_(form), tools_(tools) {}
  Read push(std::string_view delta);
  Read finish();

 private:
  bool take_text(Read& read);
  bool take_call(Read& read);
  // The calls of these bytes; false: they are none, or of tools that there are not.
  bool read_here(std::string_view text, std::vector<ToolCall>& calls) const;
  std::string_view held() const { return std::string_view(held_).substr(n_taken_); }

  const ToolForm& form_;
  const std::span<const Tool> tools_;
  bool in_call_ = false, had_call_ = false;
  std::string held_;
  std::size_t n_taken_ = 0;  // of held_, until push() ends
  std::string space_;        // before the call
};

// Of a whole answer; none: it has no calls.
std::optional<CallReader::Read> read_calls(std::string_view answer, const ToolForm& form,
                                           std::span<const Tool> tools = {});

}  // namespace satchel::runtime
