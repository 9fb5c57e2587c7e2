// Pipeline: the stages of one recipe, made and checked.
//   needs   a recipe whose trigger can fire names every stage; one that never fires only trigger,
//           codec and reader
//   threads const: shared by all caches of the recipe
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/recipes/json.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// One tier of a recipe.
struct CodecPair {
  std::unique_ptr<Codec> k, v;
  std::string name;  // for people and statistics: "minikv2 2 bits"
};

// What a recipe allows where memory is short, besides what it does anyway.
struct RoomStep {
  std::uint8_t tier = kTierExact;  // text goes to this coarser tier; exact: tokens go
  double share = 1;                // then: of the tokens that the recipe keeps, these stay
  bool evicts() const { return tier == kTierExact; }
};

class Pipeline {
 public:
  static Result<Pipeline> make(const JsonNode& recipe, std::string_view called);

  double keep() const { return keep_; }
  // Whether anything is ever scored: tokens go, or tiers differ.
  bool decides() const { return trigger_->ever_fires() && (keep_ < 1 || n_own_codecs_ > 1); }
  bool fires(const Moment& moment) const { return decides() && trigger_->fires(moment); }
  // Of all tiers, those that only room() comes down to behind the n_own_codecs() that a decision
  // chooses from.
  std::span<const CodecPair> codecs() const { return codecs_; }
  std::size_t n_own_codecs() const { return n_own_codecs_; }
  // In the order in which they are taken. Empty: where memory is full the user is asked.
  std::span<const RoomStep> room() const { return room_; }
  bool wants_counts() const { return merger_ != nullptr && merger_->wants_counts(); }
  // What a flush leaves exact; in lanes that keep little only short_tail(), which is no longer.
  std::size_t tail() const { return tail_; }
  std::size_t short_tail() const { return short_tail_; }
  const Reader& reader() const { return *reader_; }

  // known: of the model's lanes, or null (Scorer::wants).
  ScorerWants wants(const LaneShares* known) const {
    return decides() ? scorer_->wants(known) : ScorerWants{};
  }
  // Whether caches of this model can have the recipe: as Scorer::check.
  Result<void> check(const CacheShape& shape) const {
    return scorer_ == nullptr ? Result<void>() : scorer_->check(shape);
  }
  // Only where decides().
  const Scorer& scorer() const { return *scorer_; }
  const Allocator& allocator() const { return *allocator_; }
  const Assigner& assigner() const { return *assigner_; }
  const Merger& merger() const { return *merger_; }
  // Whether a document's fate is decided when it has been read, not after a second pass.
  bool decides_when_read() const;
  // Whether that is done layer by layer, on exact K and V, for any model. CacheBook::decides_in_layer
  // asks the allocator what it knows of this one, too.
  bool decides_in_layer() const;
  // The tokens at both ends of the span that no filter lets go: their number.
  std::size_t n_protected(const TokenSpan& span) const;
  // The two ends, which then are kNeverEvict, then the filters in the recipe's order.
  void filter(const TokenSpan& span, std::span<float> scores) const;

 private:
  Pipeline() = default;
  Result<void> check_protection(std::string_view called, std::size_t line) const;
  Result<void> check_room(const JsonNode& recipe, std::string_view called) const;
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
  std::vector<RoomStep> room_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace satchel::kvcache
