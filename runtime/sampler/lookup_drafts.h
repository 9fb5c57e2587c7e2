// LookupDrafts: what the next tokens may be, from the text before them, so that one step of the
// model tries several (prompt lookup decoding, A. Saxena 2023). Where the newest tokens stood
// before, what followed them may follow again: in quotes, edits, code, lists. No answer changes
// by it: each token is chosen as always, from the same logits, and a draft saves a step if it is
// what was chosen.
//   rule      the longest match of at least kMatchLeast tokens; of those the newest. Where there is
//             none, the newest token alone, close behind where the last drafts ended: a word of
//             what is copied was another one
//   how many  DraftPace, which knows drafts behind one token, short matches and longer ones apart
//   cost      one pass over the text's ids a step: 30 µs for 32,000 tokens
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/sampler/draft_pace.h"

namespace satchel::runtime {

class LookupDrafts {
 public:
  // Chosen: a shorter match is right too seldom.
  static constexpr std::size_t kMatchLeast = 3, kMatchMost = 32, kRetrySteps = 32;
  static constexpr std::size_t kMost = DraftPace::kMost;
  static constexpr std::size_t kClose = 16;  // chosen: a sentence may be left out

  // Tokens that may follow `text`, at most n_most of them; part of text. Empty: none, or none that
  // would pay.
  std::span<const std::int32_t> after(std::span<const std::int32_t> text, std::size_t n_most);
  // What came of a step, and the time it took.
  void took(double ms, const DraftCounts& step);
  const DraftCounts& counts() const { return pace_.counts(); }

 private:
  DraftPace pace_{kRetrySteps, 3};
  std::size_t which_ = 0;   // of its kinds, for what was drafted last
  std::size_t source_ = 0;  // where in the text the drafts that were accepted go on; 0: none
};

}  // namespace satchel::runtime
