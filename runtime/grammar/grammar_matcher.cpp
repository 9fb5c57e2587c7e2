#include "runtime/grammar/grammar_matcher.h"

#include <algorithm>
#include <utility>

namespace satchel::runtime {
namespace {

using Kind = GrammarStep::Kind;

constexpr std::uint64_t pair_of(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}
constexpr std::uint32_t high_of(std::uint64_t pair) {
  return static_cast<std::uint32_t>(pair >> 32);
}
constexpr std::uint32_t low_of(std::uint64_t pair) {
  return static_cast<std::uint32_t>(pair);
}

}  // namespace

std::size_t GrammarMatcher::HashWays::operator()(const std::vector<Way>& ways) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const Way way : ways) hash = (hash ^ way) * 0xff51afd7ed558ccdu + (hash >> 29);
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

GrammarMatcher::GrammarMatcher(const Grammar& grammar) : grammar_(grammar) {
  std::array<bool, 257> begins = {};
  for (const GrammarStep& step : grammar.steps())
    if (step.kind == Kind::byte) begins[step.low] = begins[std::size_t{step.high} + 1] = true;
  for (std::size_t byte = 1; byte < class_of_.size(); ++byte)
    class_of_[byte] = static_cast<std::uint16_t>(class_of_[byte - 1] + (begins[byte] ? 1 : 0));
  n_classes_ = std::size_t{class_of_.back()} + 1;
  n_states_max_ = std::min(kStatesMax, kTableMax / n_classes_);
  clear();
  add_ways(grammar.start(), kNobody);
  start_ = intern();
}

void GrammarMatcher::clear() {
  states_.clear();
  facts_.clear();
  next_.clear();
  callers_.assign(1, {});
  caller_of_.clear();
  n_ways_ = 0;
  intern();  // kRefused: no way
  std::fill(next_.begin(), next_.end(), kRefused);
}

// The state of ways_.
GrammarMatcher::State GrammarMatcher::intern() {
  std::ranges::sort(ways_);
  const auto [found, is_new] = states_.try_emplace(ways_, static_cast<State>(facts_.size()));
  if (is_new) {
    n_ways_ += ways_.size() + 1;
    const bool may_end = !ways_.empty() && ways_.back() == kEnds;
    facts_.push_back({.ways = &found->first,
                      .may_end = may_end,
                      .may_go_on = ways_.size() > (may_end ? 1u : 0u)});
    next_.resize(next_.size() + n_classes_, kUnknown);
  }
  ways_.clear();
  seen_.clear();
  return found->second;
}

bool GrammarMatcher::push(std::uint32_t returns_to, std::uint32_t parent, std::uint32_t& caller) {
  // The end of a rule that was called last has nothing to come back for.
  if (grammar_.steps()[returns_to].kind == Kind::end) {
    caller = parent;
    return true;
  }
  const std::uint32_t depth = callers_[parent].depth + 1;
  if (depth > kDepthMax) {
    was_limited_ = true;
    return false;
  }
  const auto [found, is_new] = caller_of_.try_emplace(pair_of(returns_to, parent),
                                                      static_cast<std::uint32_t>(callers_.size()));
  if (is_new) callers_.push_back({returns_to, parent, depth});
  caller = found->second;
  return true;
}

void GrammarMatcher::add_ways(std::uint32_t first, std::uint32_t caller) {
  waiting_.push_back(pair_of(first, caller));
  while (!waiting_.empty()) {
    const Way way = waiting_.back();
    waiting_.pop_back();
    if (!seen_.insert(way).second) continue;
    if (seen_.size() > kWaysMax) {
      was_limited_ = true;
      waiting_.clear();
      return;
    }
    const std::uint32_t who = low_of(way);
    const GrammarStep& step = grammar_.steps()[high_of(way)];
    switch (step.kind) {
      case Kind::byte:
        ways_.push_back(way);
        break;
      case Kind::fork:
        waiting_.push_back(pair_of(step.other, who));
        waiting_.push_back(pair_of(step.next, who));
        break;
      case Kind::call: {
        std::uint32_t called = 0;
        if (push(step.next, who, called)) waiting_.push_back(pair_of(step.other, called));
        break;
      }
      case Kind::end:
        if (who == kNobody)
          ways_.push_back(kEnds);
        else
          waiting_.push_back(pair_of(callers_[who].returns_to, callers_[who].parent));
        break;
    }
  }
}

GrammarMatcher::State GrammarMatcher::find_after(State state, std::uint8_t byte) {
  if (facts_.size() >= n_states_max_ || n_ways_ >= kAllWaysMax) {
    was_limited_ = true;
    return kRefused;
  }
  for (const Way way : *facts_[state].ways) {
    if (way == kEnds) continue;
    const GrammarStep& step = grammar_.steps()[high_of(way)];
    if (byte >= step.low && byte <= step.high) add_ways(step.next, low_of(way));
  }
  const State found = intern();
  next_[state * n_classes_ + class_of_[byte]] = found;
  return found;
}

GrammarMatcher::State GrammarMatcher::forget_but(State state) {
  const std::vector<Way> ways = *facts_[state].ways;
  const std::vector<Caller> callers = std::move(callers_);
  clear();
  for (const Way way : ways) {
    if (way == kEnds) {
      ways_.push_back(kEnds);
      continue;
    }
    std::vector<std::uint32_t> path;  // who called, from the last one on
    for (std::uint32_t who = low_of(way); who != kNobody; who = callers[who].parent)
      path.push_back(callers[who].returns_to);
    std::uint32_t caller = kNobody;
    for (std::size_t i = path.size(); i-- > 0;) (void)push(path[i], caller, caller);
    ways_.push_back(pair_of(high_of(way), caller));
  }
  const State kept = intern();
  return kept;
}

}  // namespace satchel::runtime
