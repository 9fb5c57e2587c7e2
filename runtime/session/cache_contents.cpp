#include "runtime/session/cache_contents.h"

#include <algorithm>

#include "kvcache/recipes/pipeline.h"

namespace satchel::runtime {
namespace {

std::size_t rise(std::size_t before, std::size_t after) {
  return after - std::min(before, after);
}

// Steps down that lane-tokens took, from one tier to the next. What came back from its rest was as
// coarse before: no tier is known of it, so no tier counts it.
std::size_t n_steps_down(const CacheContents& before, const CacheContents& now) {
  const std::size_t n_back = rise(now.n_resting, before.n_resting);
  std::size_t n = 0;
  for (std::size_t tier = 0; tier < now.n_from.size(); ++tier)
    n += rise(before.n_from[tier] + n_back, now.n_from[tier]);
  return std::min(n, *std::ranges::max_element(now.n_from));
}

}  // namespace

CacheContents::CacheContents(const kvcache::CacheStats& stats, std::span<const LedgerEntry> ledger)
    : bytes(stats.bytes),
      fp16_bytes(stats.fp16_bytes),
      n_evicted(stats.n_evicted),
      n_resting(stats.n_resting) {
  for (std::size_t tier = stats.tiers.size(), n = 0; tier-- > kvcache::kTierRecipe;) {
    if (stats.tiers[tier].name != "exact") n += stats.tiers[tier].n_tokens;
    n_from[tier] = n;
  }
  for (const LedgerEntry& entry : ledger) {
    n_noted_lowered += entry.n_lowered;
    n_noted_evicted += entry.n_evicted;
  }
}

kvcache::CompactionReport done_between(const CacheContents& before, const CacheContents& now) {
  return {.n_evicted = rise(before.n_evicted, now.n_evicted),
          .n_lowered = n_steps_down(before, now)};
}

kvcache::CompactionReport unnoted_between(const CacheContents& before, const CacheContents& now) {
  const kvcache::CompactionReport all = done_between(before, now);
  return {.n_evicted = rise(now.n_noted_evicted - before.n_noted_evicted, all.n_evicted),
          .n_lowered = rise(now.n_noted_lowered - before.n_noted_lowered, all.n_lowered)};
}

std::size_t bytes_with_new_text(const CacheContents& before, const CacheContents& now) {
  return before.bytes + rise(before.fp16_bytes, now.fp16_bytes);
}

bool is_exact(const kvcache::CacheStats& stats) {
  return stats.n_evicted == 0 &&
         std::all_of(stats.layers.begin(), stats.layers.end(),
                     [](const auto& layer) { return layer.k_bits >= 16 && layer.v_bits >= 16; });
}

std::size_t n_coarser_than(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats) {
  std::size_t n = 0;
  for (std::size_t tier = kvcache::kTierRecipe + recipe.pipeline().n_own_codecs();
       tier < stats.tiers.size(); ++tier)
    n += stats.tiers[tier].n_tokens;
  return n;
}

}  // namespace satchel::runtime
