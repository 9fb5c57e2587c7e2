// Tier: what precision a token is held at. A cache's tiers are numbered from the finest: exact,
// then 8 bits (both of every cache: pending and protected text is held there), then the recipe's
// codecs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace satchel::kvcache {

inline constexpr std::uint8_t kTierExact = 0;  // fp16
// 8 bits, groups of 32: provisional where exact does not fit.
inline constexpr std::uint8_t kTierEight = 1;
inline constexpr std::uint8_t kTierRecipe = 2;  // the recipe's first codec, its others behind it
inline constexpr std::uint8_t kGone = 255;
inline constexpr std::size_t kCodecsMax = 6;  // of a recipe, with those it comes down to
inline constexpr std::size_t kTiersMax = kTierRecipe + kCodecsMax;

}  // namespace satchel::kvcache
