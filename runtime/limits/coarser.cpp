#include "runtime/limits/coarser.h"

#include "kvcache/recipes/pipeline.h"

namespace satchel::runtime {

std::size_t n_coarser_than(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats) {
  std::size_t n = 0;
  for (std::size_t tier = kvcache::kTierRecipe + recipe.pipeline().n_own_codecs();
       tier < stats.tiers.size(); ++tier)
    n += stats.tiers[tier].n_tokens;
  return n;
}

}  // namespace satchel::runtime
