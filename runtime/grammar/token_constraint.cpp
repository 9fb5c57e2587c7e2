#include "runtime/grammar/token_constraint.h"

#include <string>
#include <utility>

namespace satchel::runtime {

TokenConstraint::TokenConstraint(Grammar grammar, std::shared_ptr<const TokenTrie> tokens)
    : grammar_(std::move(grammar)),
      tokens_(std::move(tokens)),
      matcher_(grammar_),
      state_(matcher_.start()) {}

GrammarMatcher::State TokenConstraint::after(std::int32_t token) {
  GrammarMatcher::State state = state_;
  const std::string_view text = tokens_->text(token);
  if (text.empty()) return GrammarMatcher::kRefused;
  for (const char byte : text) state = matcher_.after(state, static_cast<std::uint8_t>(byte));
  return state;
}

bool TokenConstraint::allows(std::int32_t token) {
  if (tokens_->is_end(token)) return may_end();
  return after(token) != GrammarMatcher::kRefused;
}

const TokenSet& TokenConstraint::allowed() {
  if (const auto found = allowed_.find(state_); found != allowed_.end()) return found->second;
  if (allowed_.size() >= kSetsMax) allowed_.clear();
  TokenSet set = tokens_->allowed(matcher_, state_);
  for (const std::int32_t end : tokens_->ends())
    if (may_end() && end >= 0 && static_cast<std::size_t>(end) < tokens_->n_tokens())
      set.add(static_cast<std::size_t>(end));
  return allowed_.emplace(state_, std::move(set)).first->second;
}

bool TokenConstraint::mask(std::span<float> logits) {
  return allowed().keep_only(logits);
}

void TokenConstraint::take(std::int32_t token) {
  if (tokens_->is_end(token)) return;
  state_ = after(token);
  if (!matcher_.is_half_full()) return;
  state_ = matcher_.forget_but(state_);
  allowed_.clear();
}

Error TokenConstraint::stuck() const {
  const std::string why =
      matcher_.was_limited()
          ? "it nests deeper, or has more ways to go on, than can be followed (" +
                std::to_string(GrammarMatcher::kDepthMax) + " rules inside one another, " +
                std::to_string(GrammarMatcher::kWaysMax) + " ways). Make it simpler."
          : "no token of the model's vocabulary goes on with it. Allow other characters there.";
  return {ErrorKind::invalid, "GRAMMAR_STUCK",
          "The answer cannot go on within the grammar: " + why};
}

}  // namespace satchel::runtime
