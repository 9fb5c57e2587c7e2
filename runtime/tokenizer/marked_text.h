// MarkedText: a text, and where in it control tokens may stand by their names: what a template or a
// tool's form wrote there, never what people, models or tools said.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/index_range.h"

namespace satchel::runtime {

struct TextMarks {
  std::vector<IndexRange> parsed = {};  // in order
  bool is_turn = false;                 // a whole turn: nothing is written around it
  bool empty() const { return parsed.empty() && !is_turn; }
  friend bool operator==(const TextMarks& a, const TextMarks& b) {
    const auto is_same = [](const IndexRange& one, const IndexRange& other) {
      return one.begin == other.begin && one.end == other.end;
    };
    return a.is_turn == b.is_turn && std::ranges::equal(a.parsed, b.parsed, is_same);
  }
};

struct MarkedText {
  std::string text = {};
  TextMarks marks = {};

  MarkedText& add(std::string_view said) {
    text += said;
    return *this;
  }
  MarkedText& mark(std::string_view written) {
    std::vector<IndexRange>& parsed = marks.parsed;
    if (!parsed.empty() && parsed.back().end == text.size())
      parsed.back().end += written.size();
    else if (!written.empty())
      parsed.push_back({text.size(), text.size() + written.size()});
    text += written;
    return *this;
  }
};

// The same, elsewhere.
struct TurnText {
  std::string_view text;
  const TextMarks* marks = nullptr;  // nullptr: nothing is marked

  TurnText(std::string_view said, const TextMarks* where = nullptr) : text(said), marks(where) {}
  TurnText(const char* said) : text(said) {}
  TurnText(const std::string& said) : text(said) {}
  TurnText(const MarkedText& marked) : text(marked.text), marks(&marked.marks) {}

  bool is_plain() const { return marks == nullptr || marks->empty(); }
  bool is_turn() const { return marks != nullptr && marks->is_turn; }
};

}  // namespace satchel::runtime
