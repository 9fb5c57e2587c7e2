// Recall probe: facts found in the text a chat has read, asked again. The model is led along a passage
// as if it repeated it; at each fact its most likely next token either is the fact or is not.
//   facts    tokens that are rare in what was read (names) or have a digit (numbers), with another
//            such token shortly before them in the same sentence, so that something says what is
//            asked; and that the model does not say when it is led along the same passage without
//            having read anything. So each takes the cache to say, and which ones they are depends on
//            model and text alone: probes of one chat can be compared
//   passages spread evenly over the text, in each part of it where the most facts are
//   is not   a test of whether the model understands: one that repeats badly says little of an exact
//            cache either
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace satchel::runtime {

struct RecallProbe {
  std::size_t n_asked = 0, n_said = 0;  // facts; n_asked 0: nothing measured
  std::size_t measured_at = 0;          // tokens in the context then
  std::int64_t measured_ms = 0;         // since 1970, UTC
  std::size_t n_steps = 0;              // of the ledger that were before it
};

// Chosen: some 30 facts, for less than 1,500 tokens of work.
inline constexpr std::size_t kPassages = 8, kPassageTokens = 24;
inline constexpr std::size_t kRecallHookTokens = 8;  // before a passage, of the same text
inline constexpr std::size_t kRareTokens = 2;  // a token that stands there no more often is rare

// Tokens [begin, end) of a chat that are text somebody gave to read.
struct ReadPart {
  std::size_t begin = 0, end = 0;
};
struct Passage {
  std::size_t first = 0, n_tokens = 0;
  std::vector<std::size_t> facts;  // tokens first … first + n_tokens - 1 that may be asked, rising
};
enum class TokenLook { word, number, end, other };  // end: of a sentence or line

// kPassages at most, in order; fewer of short texts, none where no part has facts.
//   parts  rising, do not overlap
std::vector<Passage> choose_passages(std::span<const std::int32_t> tokens,
                                     std::span<const ReadPart> parts,
                                     const std::function<TokenLook(std::int32_t)>& look_of);

}  // namespace satchel::runtime
