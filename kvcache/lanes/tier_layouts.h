// TierLayouts: the page layouts of one cache: for each tier, head_dim and capacity. Pages hold few
// tokens where a lane keeps few, so a layout is looked up by the number of tokens.
//   tiers   kTierExact, kTierEight, then the recipe's codecs
//   lanes   alike, but that keys in a basis of the lane's own have layouts of their own that point to it,
//           of the same bytes; of() is for their sizes only. Where a model's bases are not known such
//           keys are turned by a Hadamard matrix, with as many bits in every channel: as many bytes as the
//           codec's bits by coordinate take on average
//   errors  unsupported, PAGE_LAYOUT: a codec does not fit this head_dim
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/contract/page_layout.h"
#include "kvcache/cache_shape.h"
#include "kvcache/tier.h"

namespace satchel::kvcache {

class Pipeline;

class TierLayouts {
 public:
  static Result<TierLayouts> make(const CacheShape& shape, const Pipeline& pipeline);

  std::size_t n_tiers() const { return n_tiers_; }
  // The smallest that holds n_tokens, 1 … kPageTokens. The reference is good as long as this.
  const kernels::PageLayout& of(std::uint8_t tier, std::size_t head_dim,
                                std::size_t n_tokens) const;
  // The same for pages of this lane, of CacheShape's order and of that head_dim.
  const kernels::PageLayout& of_lane(std::uint8_t tier, std::size_t lane, std::size_t head_dim,
                                     std::size_t n_tokens) const;
  // Bytes of pages of n_tokens of one lane.
  std::size_t bytes(std::uint8_t tier, std::size_t head_dim, std::size_t n_tokens) const;
  std::size_t page_bytes_max() const;
  // Exact, 8 bits, or a codec of the recipe: its index in the order of tiers.
  const std::vector<std::size_t>& head_dims() const { return head_dims_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  void give_bases(const CacheShape& shape);

  static constexpr std::size_t kCapacities = kernels::kPageTokens / kernels::kPageStep;
  std::size_t n_tiers_ = 0;
  std::vector<std::size_t> head_dims_;  // distinct
  // [head_dims, tiers, capacities]; a codec that cannot do a small capacity has its next larger one
  std::vector<kernels::PageLayout> layouts_;
  std::size_t n_lanes_ = 0;
  std::vector<std::size_t> own_of_tier_;  // [tiers] which part of own_, or kNone
  // [tiers with bases, lanes, capacities]; they point into bases_
  std::vector<kernels::PageLayout> own_;
  std::shared_ptr<const KeyBases> bases_;
  std::shared_ptr<const std::vector<LayerShape>> layers_;  // whose frequencies they point into
};

}  // namespace satchel::kvcache
