#include "runtime/grammar/rule_checks.h"

#include <unordered_map>
#include <utility>

namespace satchel::runtime {
namespace {

using Kind = GrammarStep::Kind;

// Of each step: whether the end of its rule can be come to, over bytes or without any.
std::vector<bool> can_end(const std::vector<GrammarStep>& steps, bool over_bytes) {
  std::vector<std::vector<std::uint32_t>> before(steps.size());  // who looks at a step
  std::vector<std::uint32_t> waiting;
  for (std::uint32_t at = 0; at < steps.size(); ++at) {
    const GrammarStep& step = steps[at];
    if (step.kind == Kind::end) waiting.push_back(at);
    if (step.kind == Kind::fork || step.kind == Kind::call) before[step.other].push_back(at);
    if (step.kind != Kind::end) before[step.next].push_back(at);
  }
  std::vector<bool> ends(steps.size(), false);
  const auto is_sure = [&](const GrammarStep& step) {
    switch (step.kind) {
      case Kind::byte:
        return over_bytes && step.low <= step.high && ends[step.next];
      case Kind::fork:
        return ends[step.next] || ends[step.other];
      case Kind::call:
        return ends[step.next] && ends[step.other];
      case Kind::end:
        return true;
    }
    return false;
  };
  while (!waiting.empty()) {
    const std::uint32_t at = waiting.back();
    waiting.pop_back();
    if (ends[at] || !is_sure(steps[at])) continue;
    ends[at] = true;
    waiting.insert(waiting.end(), before[at].begin(), before[at].end());
  }
  return ends;
}

// Visits every step that can be come to from `first`. into_rules: also those of rules that are
// called. passes: whether a step leads to its `next`.
template <class Passes, class Visit>
void walk(const std::vector<GrammarStep>& steps, std::uint32_t first, std::vector<bool>& is_seen,
          const Passes& passes, const Visit& visit) {
  std::vector<std::uint32_t> waiting = {first};
  while (!waiting.empty()) {
    const std::uint32_t at = waiting.back();
    waiting.pop_back();
    if (is_seen[at]) continue;
    is_seen[at] = true;
    const GrammarStep& step = steps[at];
    visit(step, waiting);
    if (step.kind == Kind::fork) waiting.push_back(step.other);
    if (step.kind != Kind::end && passes(step)) waiting.push_back(step.next);
  }
}

// The first circle of `to` that is reached from rule 0, without recursion: chains may be long.
std::vector<std::size_t> circle_in(const std::vector<std::vector<std::size_t>>& to) {
  enum class Mark : std::uint8_t { fresh, open, done };
  std::vector<Mark> marks(to.size(), Mark::fresh);
  for (std::size_t first = 0; first < to.size(); ++first) {
    if (marks[first] != Mark::fresh) continue;
    std::vector<std::pair<std::size_t, std::size_t>> path = {{first, 0}};  // rule, its next arrow
    marks[first] = Mark::open;
    while (!path.empty()) {
      auto& [rule, n] = path.back();
      if (n == to[rule].size()) {
        marks[rule] = Mark::done;
        path.pop_back();
        continue;
      }
      const std::size_t next = to[rule][n++];
      if (marks[next] == Mark::open) {
        std::vector<std::size_t> circle;
        for (const auto& [one, arrow] : path)
          if (!circle.empty() || one == next) circle.push_back(one);
        return circle;
      }
      if (marks[next] == Mark::done) continue;
      marks[next] = Mark::open;
      path.emplace_back(next, 0);
    }
  }
  return {};
}

}  // namespace

RuleChecks check_rules(const std::vector<GrammarStep>& steps,
                       const std::vector<std::uint32_t>& entries) {
  std::unordered_map<std::uint32_t, std::size_t> rule_at;
  for (std::size_t i = 0; i < entries.size(); ++i) rule_at.try_emplace(entries[i], i);
  RuleChecks checks;
  const std::vector<bool> ends = can_end(steps, true), can_be_empty = can_end(steps, false);
  if (!ends[entries[0]]) checks.endless = 0;
  std::vector<bool> is_reached(steps.size(), false);
  walk(
      steps, entries[0], is_reached, [](const GrammarStep&) { return true; },
      [&](const GrammarStep& step, std::vector<std::uint32_t>& waiting) {
        if (step.kind != Kind::call) return;
        waiting.push_back(step.other);
        if (!ends[step.other]) checks.endless = rule_at.at(step.other);
      });
  std::vector<std::vector<std::size_t>> begins_with(entries.size());
  std::vector<bool> is_seen(steps.size(), false);  // steps that are no bytes belong to one rule
  for (std::size_t rule = 0; rule < entries.size(); ++rule)
    if (is_reached[entries[rule]])
      walk(
          steps, entries[rule], is_seen,
          [&](const GrammarStep& step) {
            return step.kind == Kind::fork || (step.kind == Kind::call && can_be_empty[step.other]);
          },
          [&](const GrammarStep& step, const std::vector<std::uint32_t>&) {
            if (step.kind == Kind::call) begins_with[rule].push_back(rule_at.at(step.other));
          });
  checks.circle = circle_in(begins_with);
  return checks;
}

}  // namespace satchel::runtime
