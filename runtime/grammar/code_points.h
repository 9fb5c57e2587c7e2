// CodePoints: a set of Unicode characters, and their UTF-8 spelling as ranges of bytes.
//   rule     no surrogates and nothing above U+10FFFF: they have no spelling
//   source   the ranges of Russ Cox's "Regular Expression Matching in the Wild", 2010
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/grammar/step_list.h"

namespace satchel::runtime {

class CodePoints {
 public:
  static constexpr char32_t kLast = 0x10ffff;

  static CodePoints one(char32_t code) { return CodePoints().with(code, code); }
  static CodePoints all() { return CodePoints().with(0, kLast); }
  CodePoints& add(char32_t low, char32_t high);
  CodePoints with(char32_t low, char32_t high) const;
  CodePoints with(const CodePoints& others) const;
  CodePoints without(const CodePoints& others) const { return inverse().with(others).inverse(); }
  CodePoints inverse() const;
  bool empty() const { return normal().empty(); }
  bool has(char32_t code) const;

  // One of them, then `next`. An empty set is a dead end: a byte that no text has.
  StepList::At spell(StepList& steps, StepList::At next) const;

 private:
  struct Range {
    char32_t low, high;
  };
  std::vector<Range> normal() const;  // sorted, apart, without surrogates

  std::vector<Range> ranges_;
};

}  // namespace satchel::runtime
