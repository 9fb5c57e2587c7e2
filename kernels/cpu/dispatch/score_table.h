// The score kernel that one instruction level offers (score.cpp drives it).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/attend_table.h"

namespace satchel::kernels::cpu {

// A tile of up to kTileTokens keys against all queries of its lane.
struct ScoreJob {
  const ScoreArgs* args = nullptr;
  KeyTile tile;                             // k alone
  const std::int32_t* positions = nullptr;  // [n_tokens], rising, shifts included
  std::size_t n_tokens = 0;
  const LiveMask* live = nullptr;  // null: all
  float* rows = nullptr;           // scratch [kScoreRowsMax, head_dim]
  float* largest = nullptr;        // scratch [n_group, kTileTokens], for Queries::max alone: of
      // probabilities where there are weights, else of their logarithms
  float* scores = nullptr;  // [n_tokens]
};
inline constexpr std::size_t kScoreRowsMax = 12;

struct ScoreTable {
  void (*run)(const ScoreJob& job);
};

extern const ScoreTable kScoreAvx2, kScoreAvx512;

}  // namespace satchel::kernels::cpu
