// LookupDrafts: what the next tokens may be, from the text before them, so that one step of the
// model tries several (prompt lookup decoding, A. Saxena 2023). Where the newest tokens stood
// before, what followed them may follow again: in quotes, edits, code, lists. No answer changes
// by it: each token is chosen as always, from the same logits, and a draft saves a step if it is
// what was chosen.
//   rule      the longest match of at least kMatchLeast tokens; of those the newest. Where there is
//             none, the newest token alone, close behind where the last drafts ended: a word of
//             what is copied was another one
//   how many  as many as pay, by what the newest steps of this answer took (their median, so that
//             one that a busy machine slowed decides nothing) and how many drafts were accepted;
//             where none pay, after kRetrySteps a few are tried again, and judged by these alone
//   cost      one pass over the text's ids a step: 30 µs for 32,000 tokens
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

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

class LookupDrafts {
 public:
  // Chosen: a shorter match is right too seldom. With kMost a step has 8 tokens, as many as
  // attention on the CPU plans for as it does for one (AttendPlan::kFewTokens).
  static constexpr std::size_t kMatchLeast = 3, kMatchMost = 32, kMost = 7, kRetrySteps = 32;
  static constexpr std::size_t kClose = 16;  // chosen: a sentence may be left out

  // Tokens that may follow `text`, at most n_most of them; part of text. Empty: none, or none that
  // would pay.
  std::span<const std::int32_t> after(std::span<const std::int32_t> text, std::size_t n_most);
  // What came of a step, and the time it took.
  void took(double ms, const DraftCounts& step);
  const DraftCounts& counts() const { return counts_; }

 private:
  std::size_t n_that_pay() const;
  bool retries() const { return n_since_try_ >= kRetrySteps; }

  DraftCounts counts_;
  // How often a draft is accepted: behind one token, short matches, longer ones. Chosen: a first
  // try is worth it.
  std::array<double, 3> shares_ = {.7, .7, .7};
  std::size_t which_ = 0;        // of them, for what was drafted last
  NewestTimes plain_;            // of steps without drafts
  NewestTimes added_;            // by each draft to a step
  std::size_t source_ = 0;       // where in the text the drafts that were accepted go on; 0: none
  std::size_t n_since_try_ = 0;  // steps for which drafts would not have paid
};

}  // namespace satchel::runtime
