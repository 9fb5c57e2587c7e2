// GrammarMatcher: reads a text byte by byte beside a grammar, along all ways in which it may be
// one of the grammar's texts.
//   how      a state is the set of steps that a byte may take next, each with the rules it will
//            return to. Equal states are one, and where a byte leads is found once: in the middle
//            of a string a byte costs a look into a table
//   limits   kDepthMax calls inside one another, kWaysMax ways at once, kStatesMax states and
//            kAllWaysMax ways of all of them. What would go beyond them is refused like a wrong
//            byte, and was_limited() says so from then on
//   threads  one
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/grammar/grammar.h"

namespace satchel::runtime {

class GrammarMatcher {
 public:
  using State = std::uint32_t;
  static constexpr State kRefused = 0;
  // Chosen, not measured: JSON that people write nests less, and takes two calls a level.
  static constexpr std::size_t kDepthMax = 512, kWaysMax = 8192;
  // Held at once: states, ways of all of them, and places in the table of where bytes lead (16 MB
  // each).
  static constexpr std::size_t kStatesMax = 1u << 17, kAllWaysMax = 1u << 21;
  static constexpr std::size_t kTableMax = 1u << 22;

  // grammar  outlives it
  explicit GrammarMatcher(const Grammar& grammar);

  State start() const { return start_; }  // until something was forgotten
  State after(State state, std::uint8_t byte) {
    const State known = next_[state * n_classes_ + class_of_[byte]];
    return known != kUnknown ? known : find_after(state, byte);
  }
  bool may_end(State state) const { return facts_[state].may_end; }
  bool may_go_on(State state) const { return facts_[state].may_go_on; }
  bool was_limited() const { return was_limited_; }

  // Worth a forget_but().
  bool is_half_full() const {
    return facts_.size() > n_states_max_ / 2 || n_ways_ > kAllWaysMax / 2;
  }
  // Forgets all states but this one, which has another number then.
  State forget_but(State state);

 private:
  static constexpr State kUnknown = ~State{0};
  static constexpr std::uint32_t kNobody = 0;  // the stack of who was not called
  // A step and a stack in one number; kEnds: the text may end.
  using Way = std::uint64_t;
  static constexpr Way kEnds = ~Way{0};
  struct Facts {
    const std::vector<Way>* ways = nullptr;
    bool may_end = false, may_go_on = false;
  };
  struct Caller {
    std::uint32_t returns_to = 0, parent = 0, depth = 0;
  };
  struct HashWays {
    std::size_t operator()(const std::vector<Way>& ways) const;
  };

  void clear();
  State find_after(State state, std::uint8_t byte);
  void add_ways(std::uint32_t step, std::uint32_t caller);
  // kRefused: it would be too deep.
  bool push(std::uint32_t returns_to, std::uint32_t parent, std::uint32_t& caller);
  State intern();

  const Grammar& grammar_;
  std::array<std::uint16_t, 256> class_of_ = {};  // bytes that no step tells apart
  std::size_t n_classes_ = 0, n_states_max_ = 0;
  State start_ = kRefused;
  bool was_limited_ = false;
  std::size_t n_ways_ = 0;  // of all states

  std::vector<Facts> facts_;  // [n_states]
  std::vector<State> next_;   // [n_states, n_classes_]
  std::unordered_map<std::vector<Way>, State, HashWays> states_;
  std::vector<Caller> callers_;
  std::unordered_map<std::uint64_t, std::uint32_t> caller_of_;

  // While a state is made:
  std::vector<Way> ways_, waiting_;
  std::unordered_set<Way> seen_;
};

}  // namespace satchel::runtime
