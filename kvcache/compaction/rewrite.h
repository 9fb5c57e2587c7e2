// LaneRewriter: moves tokens of one lane to other tiers, or out of it, page by page, in the scratch
// that the cache holds for this. After each page that is made the lane is whole: a token is in its
// old page until its new one has joined, and pages that no lane needs any more are given back, so
// that one free page is enough even where memory is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

class LaneRewriter {
 public:
  // Where the token at `position`, now at `tier`, goes: a tier that is no finer, or kGone.
  using TierOf = std::function<std::uint8_t(std::size_t position, std::uint8_t tier)>;

  LaneRewriter(CacheState& cache, std::size_t lane, const TierOf& tier_of);
  // Of all pages, or those it takes. Errors: the backend's, CACHE_FULL; the lane is whole after
  // either.
  using Takes = std::function<bool(const PageRecord& page)>;
  Result<void> rewrite_pages(const Takes& takes = {});
  // Of the oldest n tokens of the tail, which leave it. After finish().
  Result<void> flush_tail(std::size_t n);
  // What is gathered becomes pages that are not full.
  Result<void> finish();

  std::size_t n_evicted() const { return n_evicted_; }
  std::size_t n_lowered() const { return n_lowered_; }

 private:
  struct Place {
    std::uint64_t serial = 0;  // 0: the tail
    std::size_t slot = 0;
  };
  struct Bucket {
    std::uint8_t tier = kTierExact;
    std::vector<Place> places;
    std::vector<std::int32_t> positions;  // as the page will hold them
    std::vector<float> log_counts;
    std::int32_t shift = 0;
  };
  using Source = std::function<ExactBlock()>;

  Result<void> rewrite_page(std::uint64_t serial, const Takes& takes);
  Result<void> pack_tail(std::size_t n);
  bool only_masks(const PageRecord& page, std::span<const std::uint8_t> targets) const;
  Result<void> load(const PageRecord& page);
  Result<void> gather(const Source& source, std::uint8_t tier, std::int32_t shift,
                      std::uint64_t serial, std::span<const std::size_t> slots,
                      std::span<const std::int32_t> positions, std::span<const float> log_counts);
  Result<void> emit(std::size_t bucket);
  void take_away(std::span<const Place> places);
  std::size_t index_of(std::uint64_t serial, std::size_t slot) const;

  CacheState& cache_;
  std::size_t index_;
  Lane& lane_;
  const TierOf& tier_of_;
  std::vector<Bucket> buckets_;  // [n_buckets()]
  std::size_t n_evicted_ = 0, n_lowered_ = 0;
};

}  // namespace satchel::kvcache
