// decide: from scores to tiers, for lanes that share a total.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/recipes/pipeline.h"

namespace satchel::kvcache {

struct LaneDecision {
  std::size_t lane = 0, layer = 0;
  std::vector<float> scores = {};        // [n_tokens] of the span, filtered, protected ones marked
  std::vector<std::uint8_t> tiers = {};  // out: [n_tokens] index into the codecs, or kGone
  std::size_t budget = 0;                // out: tokens that are not kGone
};
// The recipe's allocator shares `total` out, its assigner fills each lane.
void decide(const Pipeline& pipeline, const TokenSpan& span, std::size_t total,
            std::span<LaneDecision> lanes);
// The assigner alone, by budgets that are there: of lanes whose marks have changed. Lanes of a
// layer stand side by side, all of them.
void assign(const Pipeline& pipeline, std::span<LaneDecision> lanes);

}  // namespace satchel::kvcache
