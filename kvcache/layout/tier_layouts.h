// TierLayouts: the page layouts of one cache, by tier, token shape and capacity. Lanes with small
// budgets have small pages, so layouts are looked up by the number of tokens.
//   tiers   kTierExact, kTierEight, then the recipe's codecs
//   lanes   share layouts, except for keys in the lane's own basis: these have a layout per lane
//           that points to the basis, with the same sizes; of() gives only their sizes. If the
//           model has no bases, a Hadamard transform with equal bits in every channel replaces
//           them, and takes as many bytes as the codec's mixed bits on average. Values of a
//           calibrated codec with loops of its own likewise: their layouts point to the lane's
//           value bases, which the loops apply.
//   errors  unsupported, PAGE_LAYOUT: a codec does not fit this head_dim
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/contract/page_layout.h"
#include "kvcache/shape/cache_shape.h"
#include "kvcache/shape/tier.h"

namespace satchel::kvcache {

class Pipeline;

class TierLayouts {
 public:
  static Result<TierLayouts> make(const CacheShape& shape, const Pipeline& pipeline);

  std::size_t n_tiers() const { return n_tiers_; }
  // The smallest layout that holds n_tokens, 1 … kPageTokens. The reference lives as long as this.
  const kernels::PageLayout& of(std::uint8_t tier, const TokenShape& token,
                                std::size_t n_tokens) const;
  // The layout for pages of a lane, numbered as in CacheShape, whose tokens have that shape.
  const kernels::PageLayout& of_lane(std::uint8_t tier, std::size_t lane, const TokenShape& token,
                                     std::size_t n_tokens) const;
  // Bytes of the pages that hold n_tokens of one lane.
  std::size_t bytes(std::uint8_t tier, const TokenShape& token, std::size_t n_tokens) const;
  std::size_t page_bytes_max() const;
  // KeyBases::values_id of the value bases that pages are made with; 0: with none.
  std::uint64_t values_id() const;
  // The distinct ones of the model's lanes.
  const std::vector<TokenShape>& tokens() const { return tokens_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  void give_bases(const CacheShape& shape, const Pipeline& pipeline);

  static constexpr std::size_t kCapacities = kernels::kPageTokens / kernels::kPageStep;
  std::size_t n_tiers_ = 0;
  std::vector<TokenShape> tokens_;  // distinct
  // [tokens, tiers, capacities]; a capacity that a codec lacks has its next larger layout
  std::vector<kernels::PageLayout> layouts_;
  std::size_t n_lanes_ = 0;
  std::vector<std::size_t> own_of_tier_;  // [tiers] index of the tier in own_, or kNone
  // [tiers with bases, lanes, capacities]; they point into bases_
  std::vector<kernels::PageLayout> own_;
  std::shared_ptr<const KeyBases> bases_;
  std::shared_ptr<const std::vector<LayerShape>> layers_;  // own_ points into its frequencies
};

}  // namespace satchel::kvcache
