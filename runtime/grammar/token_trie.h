// TokenTrie: the texts of a vocabulary as a tree of bytes, so that which tokens a grammar allows is
// found in one walk that leaves out what cannot begin any. Made once for a model.
//   threads  immutable
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/grammar_matcher.h"

namespace satchel::runtime {

// Which tokens: a bit for each.
class TokenSet {
 public:
  explicit TokenSet(std::size_t n_tokens = 0) : n_(n_tokens), words_((n_tokens + 63) / 64) {}
  void add(std::size_t token) { words_[token / 64] |= std::uint64_t{1} << token % 64; }
  bool has(std::size_t token) const {
    return token < n_ && (words_[token / 64] >> token % 64 & 1) != 0;
  }
  // Sets the logits of all others to -infinity. False: none is left.
  bool keep_only(std::span<float> logits) const;

 private:
  std::size_t n_;
  std::vector<std::uint64_t> words_;
};

class TokenTrie {
 public:
  // texts  [n_tokens], each the bytes that a token adds; "": it adds none and is never allowed
  // ends   tokens that end an answer
  TokenTrie(std::span<const std::string> texts, std::vector<std::int32_t> ends);

  std::size_t n_tokens() const { return begins_.size() - 1; }
  std::string_view text(std::int32_t token) const;  // "" also for what is no token
  const std::vector<std::int32_t>& ends() const { return ends_; }
  bool is_end(std::int32_t token) const;

  // Those whose text the grammar takes from here; the ends are not among them.
  TokenSet allowed(GrammarMatcher& matcher, GrammarMatcher::State state) const;

 private:
  // In the order of a walk from parents to children.
  struct Node {
    std::uint32_t behind = 0;  // the first node that is not below it
    std::int32_t token = -1;   // whose text ends here; others: same_
    std::uint16_t depth = 0;   // bytes before it
    std::uint8_t byte = 0;
  };

  std::string bytes_;                  // of all tokens, side by side
  std::vector<std::uint32_t> begins_;  // [n_tokens + 1], in bytes_
  std::vector<std::int32_t> ends_;     // sorted
  std::vector<Node> nodes_;
  std::vector<std::int32_t> same_;  // [n_tokens]: the next token with the same text; -1: none
  std::size_t depth_max_ = 0;
};

}  // namespace satchel::runtime
