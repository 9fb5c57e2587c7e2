// TokenConstraint: a grammar over the tokens of one answer.
//   cost     allows() looks at one token; mask() walks the vocabulary once for each state, and
//            finds the tokens of a state that comes back (the middle of a string) in a table
//   threads  one
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "kernels/base/result.h"
#include "runtime/grammar/grammar_matcher.h"
#include "runtime/grammar/token_trie.h"
#include "runtime/sampler/token_filter.h"

namespace satchel::runtime {

class TokenConstraint final : public TokenFilter {
 public:
  TokenConstraint(Grammar grammar, std::shared_ptr<const TokenTrie> tokens);

  bool allows(std::int32_t token) override;
  bool mask(std::span<float> logits) override;

  void take(std::int32_t token);  // that was allowed
  bool may_end() const { return matcher_.may_end(state_); }
  // Nothing may follow: the answer is whole.
  bool is_ended() const { return may_end() && !matcher_.may_go_on(state_); }
  // More was refused than the grammar does: a limit of GrammarMatcher was met.
  bool is_limited() const { return matcher_.was_limited(); }
  // Where no token is allowed.
  Error stuck() const;

 private:
  static constexpr std::size_t kSetsMax = 256;  // of so many states; 6 kB each at 49,152 tokens

  GrammarMatcher::State after(std::int32_t token);
  const TokenSet& allowed();

  const Grammar grammar_;
  const std::shared_ptr<const TokenTrie> tokens_;
  GrammarMatcher matcher_;
  GrammarMatcher::State state_;
  std::map<GrammarMatcher::State, TokenSet> allowed_;
};

}  // namespace satchel::runtime
