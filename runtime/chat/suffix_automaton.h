// SuffixAutomaton: every stretch of a sequence of numbers, in at most twice as many states as it
// has numbers. Led along another sequence, it knows at each number the longest stretch of the first
// that ends there.
//   state    stands for stretches that end at the same places of the sequence, the longest of which
//            it is named by; link() is the state of the longest one that also ends elsewhere
//   cost     linear in both sequences, but for the logarithm of the different numbers
//   source   Blumer et al., The smallest automaton recognizing the subwords of a text (1985)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace satchel::runtime {

class SuffixAutomaton {
 public:
  using State = std::uint32_t;
  static constexpr State kStart = 0;  // of the empty stretch; links to itself

  struct Match {
    State state = kStart;
    std::size_t length = 0;
  };

  SuffixAutomaton() : nodes_(1) {}

  // Behind the sequence; the state of all of it.
  State add(std::uint32_t number);
  // The longest stretch of the sequence that ends with `number`, where `match` is the longest one
  // before it.
  Match next(Match match, std::uint32_t number) const;

  std::size_t length(State state) const { return nodes_[state].length; }  // of its longest stretch
  State link(State state) const { return nodes_[state].link; }
  std::size_t n_states() const { return nodes_.size(); }

 private:
  struct Node {
    std::size_t length = 0;
    State link = kStart;
    std::map<std::uint32_t, State> next = {};
  };
  // Makes `number` lead from `from` and the states it links to, as far as it leads to `old` there
  // (kStart: nowhere), to `to`. The first state where it does not; true: there is none.
  struct Led {
    State at = kStart;
    bool is_all = false;
  };
  Led lead(State from, std::uint32_t number, State old, State to);
  State target(State state, std::uint32_t number) const;  // kStart: nowhere

  std::vector<Node> nodes_;
  State last_ = kStart;
};

}  // namespace satchel::runtime
