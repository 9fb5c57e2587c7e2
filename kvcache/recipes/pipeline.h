// Pipeline: the stages of one recipe, constructed and checked.
//   needs   a recipe whose trigger can fire names every stage; any other only trigger, codec and
//           reader
//   threads immutable; shared by all caches of the recipe
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/base/json.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// One tier of a recipe.
struct CodecPair {
  std::unique_ptr<Codec> k, v;
  std::string name;  // for people and statistics: "minikv2 2 bits"
};

// One step that a recipe allows under memory pressure: move text to a coarser tier, or evict.
struct ReclaimStep {
  std::uint8_t tier = kTierExact;  // the coarser tier; kTierExact: the step evicts tokens
  double share = 1;                // if it evicts: the share of the recipe's tokens that stays
  bool evicts() const { return tier == kTierExact; }
};

class Pipeline {
 public:
  static Result<Pipeline> make(const JsonNode& recipe, std::string_view called);

  double keep() const { return keep_; }
  bool may_evict() const { return trigger_->ever_fires(); }  // else keep() is 1
  // Whether anything is ever scored: the recipe evicts, or uses several tiers.
  bool decides() const { return trigger_->ever_fires() && (keep_ < 1 || n_own_codecs_ > 1); }
  bool fires(TriggerEvent event, std::size_t n_tokens) const {
    return decides() && trigger_->fires(event, n_tokens);
  }
  // All tiers. The first n_own_codecs() are those that decisions choose from; the others are
  // reached only under memory pressure, by reclaim_steps().
  std::span<const CodecPair> codecs() const { return codecs_; }
  std::size_t n_own_codecs() const { return n_own_codecs_; }
  // The steps under memory pressure, in the order in which they are taken. Empty: ask the user.
  std::span<const ReclaimStep> reclaim_steps() const { return reclaim_steps_; }
  bool needs_counts() const { return merger_ != nullptr && merger_->needs_counts(); }
  bool fits_counts() const { return merger_ != nullptr && merger_->fits_counts(); }
  std::size_t n_references() const { return merger_ == nullptr ? 0 : merger_->n_references(); }
  // Tokens that a flush leaves exact; in lanes with small budgets short_tail() <= tail().
  std::size_t tail() const { return tail_; }
  std::size_t short_tail() const { return short_tail_; }
  const Reader& reader() const { return *reader_; }

  // known: the model's head budgets, or null (Scorer::requirements).
  ScorerRequirements requirements(const HeadBudgets* known) const {
    return decides() ? scorer_->requirements(known) : ScorerRequirements{};
  }
  // Whether caches of this model can use the recipe; errors as Scorer::check.
  Result<void> check(const CacheShape& shape) const;
  // Whether decisions want a head-budget profile.
  bool needs_head_budgets() const { return decides() && allocator_->needs_head_budgets(); }
  // These four require decides().
  const Scorer& scorer() const { return *scorer_; }
  const Allocator& allocator() const { return *allocator_; }
  const Assigner& assigner() const { return *assigner_; }
  const Merger& merger() const { return *merger_; }
  // Whether a document is decided at the end of its prefill, not after a second pass.
  bool decides_when_read() const;
  // Whether it is decided layer by layer, on exact K and V, for any model.
  // CacheLayout::decides_in_layer also asks the allocator what it knows about the present model.
  bool decides_in_layer() const;
  // The number of tokens at both ends of the span that filters protect.
  std::size_t n_protected(const TokenSpan& span) const;
  // Whether filters weigh tokens by how often a span says them, and by what.
  bool weighs() const;
  float weight(std::size_t n_said) const;
  // Sets the protected ends to kNeverEvict, then applies the filters in the recipe's order.
  void filter(const TokenSpan& span, std::span<float> scores) const;

 private:
  Pipeline() = default;
  Result<void> check_protection(std::string_view called, std::size_t line) const;
  Result<void> check_weights(std::string_view called, std::size_t line) const;
  Result<void> check_reclaim_steps(const JsonNode& recipe, std::string_view called) const;
  Filter::Protected protects(const TokenSpan& span) const;

  double keep_ = 1;
  std::size_t tail_ = 0, short_tail_ = 0;
  std::unique_ptr<Trigger> trigger_;
  std::unique_ptr<Scorer> scorer_;
  std::vector<std::unique_ptr<Filter>> filters_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Assigner> assigner_;
  std::unique_ptr<Merger> merger_;
  std::vector<CodecPair> codecs_;
  std::size_t n_own_codecs_ = 0;
  std::vector<ReclaimStep> reclaim_steps_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace satchel::kvcache
