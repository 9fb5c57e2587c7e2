// Recall probe: tests whether the model still recalls facts of the text in a chat. A passage is
// teacher-forced as if the model repeated it. At each fact, its most likely next token either is
// the fact or is not.
//   facts    tokens that are rare in the text (names) or contain a digit (numbers). Another such
//            token must precede them shortly in the same sentence, to indicate what is asked. The
//            model must not predict them from the passage alone, without the cache. Facts depend on
//            model and text only, so probes of one chat are comparable.
//   passages spread evenly over the text; each is where its part of the text has the most facts
//   is not   a test of understanding: a model that repeats badly scores low even on an exact cache
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/base/index_range.h"

namespace satchel::runtime {

struct RecallProbe {
  std::size_t n_asked = 0, n_said = 0;  // facts; n_asked 0: not measured
  std::size_t measured_at = 0;          // tokens in the context then
  std::int64_t measured_ms = 0;         // since 1970, UTC
  std::size_t n_steps = 0;              // ledger steps before it
};

// Chosen: some 30 facts, for less than 1,500 tokens of work.
inline constexpr std::size_t kPassages = 8, kPassageTokens = 24;
inline constexpr std::size_t kRecallHookTokens = 8;  // before a passage, of the same text
inline constexpr std::size_t kRareTokens = 2;        // a token that occurs no more often is rare

struct Passage {
  std::size_t first = 0, n_tokens = 0;
  std::vector<std::size_t> facts;  // tokens first … first + n_tokens - 1 that may be asked, rising
};
enum class TokenLook { word, number, end, other };  // end: of a sentence or line

// At most kPassages, in order; fewer for short texts, none if no part has facts.
//   parts  tokens that the user provided, rising, without overlap
std::vector<Passage> choose_passages(std::span<const std::int32_t> tokens,
                                     std::span<const IndexRange> parts,
                                     const std::function<TokenLook(std::int32_t)>& look_of);

}  // namespace satchel::runtime
