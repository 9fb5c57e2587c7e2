// LookupDrafts: what the next tokens may be, from the text before them, so that one step of the
// model tries several (prompt lookup decoding, A. Saxena 2023). Where the newest tokens stood
// before, what followed them may follow again: in quotes, edits, code, lists. No answer changes
// by it: each token is chosen as always, from the same logits, and a draft saves a step if it is
// what was chosen.
//   rule      the longest match of at least kMatchLeast tokens; of those the newest. Where there is
//             none, the newest token alone, close behind where the last drafts ended: a word of
//             what is copied was another one
//   how many  as many as pay, by what the steps of this answer took and how many drafts were
//             accepted; where none pay, after kRetrySteps a few are tried again
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

  DraftCounts counts_;
  // How often a draft is accepted: behind one token, short matches, longer ones. Chosen: a first
  // try is worth it.
  std::array<double, 3> shares_ = {.7, .7, .7};
  std::size_t which_ = 0;        // of them, for what was drafted last
  double plain_ms_ = 0;          // of a step without drafts; 0: not known
  double draft_ms_ = 0;          // that each draft adds to a step; 0: not known
  std::size_t source_ = 0;       // where in the text the drafts that were accepted go on; 0: none
  std::size_t n_since_try_ = 0;  // steps for which drafts would not have paid
};

}  // namespace satchel::runtime
