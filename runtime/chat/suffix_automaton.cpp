#include "runtime/chat/suffix_automaton.h"

#include <utility>

namespace satchel::runtime {

SuffixAutomaton::State SuffixAutomaton::target(State state, std::uint32_t number) const {
  const auto found = nodes_[state].next.find(number);
  return found == nodes_[state].next.end() ? kStart : found->second;
}

SuffixAutomaton::Led SuffixAutomaton::lead(State from, std::uint32_t number, State old, State to) {
  for (State at = from;; at = nodes_[at].link) {
    if (target(at, number) != old) return {at, false};
    nodes_[at].next[number] = to;
    if (at == kStart) return {kStart, true};
  }
}

SuffixAutomaton::State SuffixAutomaton::add(std::uint32_t number) {
  const auto added = static_cast<State>(nodes_.size());
  nodes_.push_back({.length = nodes_[last_].length + 1});
  const Led led = lead(std::exchange(last_, added), number, kStart, added);
  if (led.is_all) return added;
  const State known = target(led.at, number);
  const std::size_t length = nodes_[led.at].length + 1;
  if (nodes_[known].length == length) {
    nodes_[added].link = known;
    return added;
  }
  // Only the shorter stretches of `known` end here, too: they get a state of their own.
  const auto split = static_cast<State>(nodes_.size());
  Node shorter = nodes_[known];
  shorter.length = length;
  nodes_.push_back(std::move(shorter));
  lead(led.at, number, known, split);
  nodes_[known].link = nodes_[added].link = split;
  return added;
}

SuffixAutomaton::Match SuffixAutomaton::next(Match match, std::uint32_t number) const {
  while (true) {
    if (const State found = target(match.state, number); found != kStart)
      return {found, match.length + 1};
    if (match.state == kStart) return {};
    match.state = nodes_[match.state].link;
    match.length = nodes_[match.state].length;
  }
}

}  // namespace satchel::runtime
