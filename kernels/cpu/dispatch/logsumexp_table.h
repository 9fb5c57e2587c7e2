// The logsumexp kernel of each instruction level (called by logsumexp.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/attend_table.h"

namespace satchel::kernels::cpu {

inline constexpr std::size_t kLogSumExpWidth = 16;  // no level's registers are longer

// A block of query rows of one lane, with their sums so far.
struct LogSumExpRows {
  const LaneQueries* lane = nullptr;
  const float* q = nullptr;                 // [n_rows, head_dim], times the scale
  const std::int32_t* positions = nullptr;  // [n_rows]
  std::size_t n_rows = 0;
  float* offset = nullptr;  // [n_rows] near the largest logit met, never above it; -infinity: none
  float* totals = nullptr;  // [n_rows, kLogSumExpWidth] whose sum is that of exp(logit - offset)
};

// `tile`: k and tokens alone; tokens.shift is 0, log_counts unused.
void logsumexp_tile_avx2(const LogSumExpRows& rows, const KeyTile& tile);
void logsumexp_tile_avx512(const LogSumExpRows& rows, const KeyTile& tile);

}  // namespace satchel::kernels::cpu
