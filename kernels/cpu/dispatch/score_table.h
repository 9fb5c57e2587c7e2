// The score kernel of each instruction level (called by score.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/attend_table.h"

namespace satchel::kernels::cpu {

// A tile of up to kTileTokens keys against all queries of its lane.
struct ScoreJob {
  const ScoreArgs* args = nullptr;
  KeyTile tile;              // k and tokens alone; tokens.shift is 0, log_counts unused
  float* rows = nullptr;     // scratch [kScoreRowsMax, head_dim]
  float* largest = nullptr;  // scratch [n_group, kTileTokens], for Queries::max alone: of
                             // probabilities if there are weights, else of their logarithms
  float* scores = nullptr;   // [n_tokens]
};
inline constexpr std::size_t kScoreRowsMax = 12;

void score_tile_avx2(const ScoreJob& job);
void score_tile_avx512(const ScoreJob& job);

}  // namespace satchel::kernels::cpu
