// The attention kernels that one instruction level offers (attend.cpp and score.cpp drive them).
//   rows  query rows of one lane, token by token and in a token head by head, times the scale; what
//         they have met so far is a running maximum, a sum of exp and a weighted sum of V
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/backend.h"
#include "kernels/contract/lane_view.h"

namespace satchel::kernels::cpu {

inline constexpr std::size_t kTileTokens = 128;
inline constexpr std::size_t kWidthStep = 16;  // rows of V sums are padded to whole registers

struct LaneRows {
  const float* q = nullptr;                 // [n_rows, head_dim]
  const float* q_planes = nullptr;          // [n_rows, head_dim] in the order of attend_packed.h
  const std::int32_t* positions = nullptr;  // [n_rows]
  std::size_t n_rows = 0, head_dim = 0;
  std::size_t width = 0;   // head_dim rounded up to kWidthStep
  float* most = nullptr;   // [n_rows] largest logit, -infinity at first
  float* total = nullptr;  // [n_rows] sum of exp(logit - most)
  float* sum = nullptr;    // [n_rows, width] sum of exp(logit - most) · v
};

// Up to 128 tokens as fp32: keys transposed, so that a register holds neighbouring tokens.
struct KeyTile {
  float* k = nullptr;  // [head_dim, kTileTokens]; columns from n_tokens on are 0
  float* v = nullptr;  // [kTileTokens, width]; channels from head_dim on are 0
  const std::int32_t* positions = nullptr;
  std::size_t n_tokens = 0;
};

struct ScoreJob {
  const ScoreArgs* args = nullptr;
  KeyTile tile;           // v unused
  float* rows = nullptr;  // scratch [kRowTileMax, head_dim]
  float* scores = nullptr;
};
inline constexpr std::size_t kRowTileMax = 12;

struct AttendTable {
  // Few rows on a 2-bit page of head_dim 64, 128 or 256, by integers on the codes. `next` is a page
  // of the same layout that will be asked for soon, or null.
  void (*packed_page)(const LaneRows& rows, const PageView& page, const std::byte* next);
  // Few rows on up to 128 exact tokens; head_dim is a multiple of 16.
  void (*exact_tokens)(const LaneRows& rows, const ExactRun& run);
  // Many rows on a tile.
  void (*tile)(const LaneRows& rows, const KeyTile& tile);
  void (*fill_exact)(const ExactRun& run, std::size_t head_dim, const KeyTile& tile);
  void (*fill_affine)(const PageLayout& layout, const std::byte* page, const KeyTile& tile);
  void (*score)(const ScoreJob& job);
};

extern const AttendTable kAttendAvx2, kAttendAvx512, kAttendAvx512Vnni;

}  // namespace satchel::kernels::cpu
