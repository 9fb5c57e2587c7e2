// CacheLayout: what a recipe makes of a model's shape, without any memory: lanes and layers, tiers,
// the bytes of pages, who takes part in decisions. One per cache; only the model's head budgets may
// come later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kvcache/lanes/lane.h"
#include "kvcache/layout/text_segments.h"
#include "kvcache/layout/tier_layouts.h"
#include "kvcache/recipes/pipeline.h"
#include "kvcache/recipes/recipe.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::kvcache {

// A flush cuts a tail where the tier changes: at most where pinned text, an old turn and the open
// one meet.
inline constexpr std::size_t kFlushRunsMax = 4;

struct CacheLayout {
  CacheLayout(const CacheShape& shape_in, const Recipe& recipe_in, TierLayouts tiers_in);
  CacheLayout(const CacheLayout& other) : CacheLayout(other.shape, other.recipe, other.tiers) {}
  CacheLayout& operator=(const CacheLayout&) = delete;

  CacheShape shape;
  const Recipe recipe;
  const Pipeline& pipeline;  // the recipe's
  const TierLayouts tiers;
  const bool recipe_is_exact;  // its first codec keeps fp16: then nothing needs to wait for it
  std::vector<std::size_t> layer_of = {};    // [n_lanes]
  std::vector<std::size_t> first_lane = {};  // [n_layers + 1]

  const LayerShape& layer(std::size_t lane) const { return shape.layers[layer_of[lane]]; }
  ScorerRequirements requirements() const {
    return pipeline.requirements(shape.head_budgets.get());
  }
  // Nothing is left out of a text or rounded beyond fp16.
  bool keeps_all_exact() const { return recipe_is_exact && !pipeline.decides(); }
  bool takes_part(std::size_t layer) const { return shape.layers[layer].window == 0; }
  std::size_t n_deciding_before(std::size_t lane) const;  // lanes that take part
  // What is known of the importance of the lane's keys; empty: nothing. Of a lane that takes part.
  std::span<const float> importance_of(std::size_t lane) const;
  LayerSelectors selectors_of(std::size_t layer) const { return {shape.selectors, layer}; }
  // To decide about, of a text of n_text tokens.
  TokenSpan token_span(std::size_t first, std::size_t n_tokens, std::size_t n_text) const;
  // Whether a document is decided about layer by layer, on exact K and V, while it is prefilled.
  bool decides_in_layer(std::size_t n_text) const;

  // The tier of pending text, no finer than `finest`.
  std::uint8_t held_tier(std::uint8_t finest) const;
  // The same of text that must not be compressed: pinned, or of the open turn. At least 8 bits.
  std::uint8_t protected_tier(std::uint8_t finest) const;
  // The tier at which a token that leaves the tail is held; nothing pending is finer than `finest`.
  std::uint8_t tier_at(const TextSegments& text, std::size_t position, std::uint8_t finest) const;
  std::vector<std::string> tier_names() const;
  // The bucket in which a compaction gathers what goes to a tier. Tiers that are reached only under
  // memory pressure share one.
  std::size_t bucket_of(std::uint8_t tier) const;
  std::size_t n_buckets() const { return bucket_of(kGone) + 1; }

  // All as the arena counts. Of the page selector's note behind a page.
  std::size_t note_bytes(std::size_t head_dim) const {
    return pipeline.reader().note_bytes(head_dim);
  }
  // Of a page with its note.
  std::size_t page_bytes(std::uint8_t tier, const TokenShape& token, std::size_t n_tokens) const;
  // Of as many pages as n_tokens of a lane take.
  std::size_t body_bytes(std::uint8_t tier, const TokenShape& token, std::size_t n_tokens) const;
  // Of the extent that compactions work in, and of what a lane of that shape takes of it.
  std::size_t scratch_bytes(const TokenShape& token) const;
  std::size_t scratch_bytes() const;
  // Of the page that a compaction may take where nothing is free.
  std::size_t reserve_bytes() const;
  // Of the extent for sinks and tail of a lane, for a tail of so many.
  static std::size_t exact_bytes(const TokenShape& token, std::size_t tail_kept);
  // What every cache takes at once: sinks and tails, that extent, the reserve, running states.
  std::size_t fixed_bytes() const;
};

// Tokens that this extent holds.
inline Lane::Capacity exact_capacity(std::size_t tail_kept) {
  return {.n_sinks = kSinkTokens, .n_tail = tail_kept + kFlushTokens};
}

}  // namespace satchel::kvcache
