#include "kvcache/layout/cache_layout.h"

#include <algorithm>

#include "kvcache/recurrent/recurrent_states.h"

namespace satchel::kvcache {

CacheLayout::CacheLayout(const CacheShape& shape_in, const Recipe& recipe_in, TierLayouts tiers_in)
    : shape(shape_in),
      recipe(recipe_in),
      pipeline(recipe.pipeline()),
      tiers(std::move(tiers_in)),
      recipe_is_exact(tiers.of(kTierRecipe, shape.layers[0].token(), 1).is_exact()) {
  for (std::size_t layer = 0; layer < shape.n_layers(); ++layer) {
    first_lane.push_back(layer_of.size());
    layer_of.insert(layer_of.end(), shape.layers[layer].n_kv_heads, layer);
  }
  first_lane.push_back(layer_of.size());
}

std::size_t CacheLayout::scratch_bytes(const TokenShape& token) const {
  constexpr std::size_t n = kernels::kPageTokens;
  return token.n_rows() * aligned_64(n * token.head_dim * sizeof(float)) +
         aligned_64(n * sizeof(std::int32_t)) + (n_buckets() + 1) * exact_block_bytes(n, token);
}

std::size_t CacheLayout::scratch_bytes() const {
  std::size_t most = 0;
  for (const TokenShape& token : tiers.tokens()) most = std::max(most, scratch_bytes(token));
  return most;
}

std::size_t CacheLayout::reserve_bytes() const {
  return Arena::rounded_up(tiers.page_bytes_max() + note_bytes(shape.head_dim_max()));
}

std::size_t CacheLayout::exact_bytes(const TokenShape& token, std::size_t tail_kept) {
  return Arena::rounded_up(Lane::exact_bytes(token, exact_capacity(tail_kept)));
}

std::size_t CacheLayout::fixed_bytes() const {
  std::size_t bytes =
      Arena::rounded_up(scratch_bytes()) + reserve_bytes() + running_state_bytes(shape);
  for (const LayerShape& layer : shape.layers)
    bytes += layer.n_kv_heads * exact_bytes(layer.token(), pipeline.tail());
  return bytes;
}

std::span<const float> CacheLayout::importance_of(std::size_t lane) const {
  if (shape.head_budgets == nullptr || !shape.head_budgets->importance) return {};
  SATCHEL_ASSERT(takes_part(layer_of[lane]));
  return shape.head_budgets->importance->lanes[n_deciding_before(lane)];
}

std::size_t CacheLayout::n_deciding_before(std::size_t lane) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < lane; ++i) n += takes_part(layer_of[i]) ? 1u : 0u;
  return n;
}

std::uint8_t CacheLayout::held_tier(std::uint8_t finest) const {
  return recipe_is_exact ? kTierRecipe : finest;
}

std::uint8_t CacheLayout::protected_tier(std::uint8_t finest) const {
  return held_tier(std::min(finest, kTierEight));
}

std::size_t CacheLayout::page_bytes(std::uint8_t tier, const TokenShape& token,
                                    std::size_t n) const {
  return Arena::rounded_up(tiers.of(tier, token, n).bytes + note_bytes(token.head_dim));
}

std::size_t CacheLayout::body_bytes(std::uint8_t tier, const TokenShape& token,
                                    std::size_t n) const {
  const std::size_t rest = n % kernels::kPageTokens;
  return n / kernels::kPageTokens * page_bytes(tier, token, kernels::kPageTokens) +
         (rest == 0 ? 0 : page_bytes(tier, token, rest));
}

std::vector<std::string> CacheLayout::tier_names() const {
  std::vector<std::string> names = {"exact", "8 bits"};
  for (const CodecPair& codec : pipeline.codecs()) names.push_back(codec.name);
  return names;
}

TokenSpan CacheLayout::token_span(std::size_t first, std::size_t n, std::size_t n_text) const {
  TokenSpan span{.n_tokens = n,
                 .first_position = first,
                 .keep = pipeline.keep(),
                 .head_budgets = shape.head_budgets.get()};
  for (std::size_t i = 0; i < shape.n_layers(); ++i) {
    if (!takes_part(i)) continue;
    ++span.n_layers;
    span.n_lanes += shape.layers[i].n_kv_heads;
  }
  span.n_after = n_text - std::min(n_text, first + n);
  return span;
}

bool CacheLayout::decides_in_layer(std::size_t n_text) const {
  if (!pipeline.decides()) return false;
  if (pipeline.decides_in_layer()) return true;
  const TokenSpan any = token_span(0, 1, n_text);
  std::vector<std::size_t> budgets(any.n_lanes);
  return pipeline.decides_when_read() && pipeline.allocator().known(any, 0, budgets);
}

// A position that is no text yet is of the turn that is being answered.
std::uint8_t CacheLayout::tier_at(const TextSegments& text, std::size_t position,
                                  std::uint8_t finest) const {
  if (text.is_protected(position)) return protected_tier(finest);
  return text.at(position)->state == SegmentState::pending ? held_tier(finest) : kTierRecipe;
}

// The last stage is of what goes.
std::size_t CacheLayout::bucket_of(std::uint8_t tier) const {
  const std::size_t n = std::min(tiers.n_tiers(), kTierRecipe + pipeline.n_own_codecs() + 1);
  return std::min<std::size_t>(tier, n - 1);
}

}  // namespace satchel::kvcache
