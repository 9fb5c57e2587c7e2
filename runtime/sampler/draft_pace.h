// DraftPace: how many drafted tokens a step should try, by what the newest steps of an answer took
// and how many drafts were accepted. One for each source of drafts.
//   rule  a step of n drafts gives 1 + p + p² + … + pⁿ tokens and takes a plain step's time and n
//         times what a draft adds, its making included: the n with the most tokens per time, none
//         if that is a plain step. p is the share that is accepted, of this kind of draft; times
//         are medians, so that one step that a busy machine slowed decides nothing
//   off   where none pay, after retry_steps a few are tried again, and judged by these alone
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace satchel::runtime {

struct DraftCounts {
  std::size_t n_drafted = 0, n_accepted = 0;
};

// The newest times of one kind of step.
class NewestTimes {
 public:
  void add(double ms);
  std::size_t n() const { return n_; }
  // Of an even number the lower of the two in the middle: of two, one slow step does not count.
  //   needs   n() > 0
  double median() const;

 private:
  static constexpr std::size_t kMost = 5;  // chosen: two slow steps do not count, old ones go soon
  std::array<double, kMost> ms_ = {};
  std::size_t n_ = 0, next_ = 0;
};

class DraftPace {
 public:
  // With kMost a step has 8 tokens, as many as attention on the CPU plans for as it does for one
  // (AttendPlan::kFewTokens).
  static constexpr std::size_t kMost = 7;

  explicit DraftPace(std::size_t retry_steps, std::size_t n_kinds = 1);
  // Of this kind, at most n_most. Counts a step for which none pay.
  std::size_t n_to_try(std::size_t kind, std::size_t n_most);
  // What came of a step, and the time it took, with the making of its drafts. A step without
  // drafts: what every other step is compared with.
  void took(double ms, const DraftCounts& step, std::size_t kind = 0);
  const DraftCounts& counts() const { return counts_; }

 private:
  std::size_t n_that_pay(std::size_t kind) const;
  bool retries() const { return n_since_try_ >= retry_steps_; }

  std::size_t retry_steps_;
  std::vector<double> shares_;   // [n_kinds] of drafts that are accepted
  NewestTimes plain_;            // of steps without drafts
  NewestTimes added_;            // by each draft to a step
  std::size_t n_since_try_ = 0;  // steps for which drafts would not have paid
  DraftCounts counts_;
};

}  // namespace satchel::runtime
