// StepList: steps of a grammar in the making, from the end of a rule to its beginning: each is
// given what comes after it.
//   limit  Grammar::kStepsMax; beyond it nothing is added, and is_full() says so
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/grammar/grammar.h"

namespace satchel::runtime {

class StepList {
 public:
  using At = std::uint32_t;
  explicit StepList(std::vector<GrammarStep> steps = {}) : steps_(std::move(steps)) {}

  At end() { return add({}); }
  At byte(std::uint8_t low, std::uint8_t high, At next);  // the same step twice is one
  At text(std::string_view bytes, At next);
  At fork(At first, At second) {
    return add({.kind = GrammarStep::Kind::fork, .next = first, .other = second});
  }
  At call(At rule, At next) {
    return add({.kind = GrammarStep::Kind::call, .next = next, .other = rule});
  }
  // The shortest text that ends with `mark`, then `next`.
  At until(std::string_view mark, At next) { return search(mark, next, false); }
  // A text in which `mark` does not stand, then `next`.
  At without(std::string_view mark, At next) { return search(mark, next, true); }

  GrammarStep& at(At step) { return steps_[step]; }
  std::size_t size() const { return steps_.size(); }
  bool is_full() const { return is_full_; }
  std::vector<GrammarStep> take() { return std::move(steps_); }

 private:
  At add(const GrammarStep& step);
  At search(std::string_view mark, At next, bool is_without);

  std::vector<GrammarStep> steps_;
  std::unordered_map<std::uint64_t, At> bytes_;  // by range and `next`
  bool is_full_ = false;
};

}  // namespace satchel::runtime
