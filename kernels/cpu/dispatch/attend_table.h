// The attention kernels of one instruction level (called by attend.cpp).
//   rows  query rows of one lane, by token, then by head, multiplied by the scale. Their softmax
//         state is a running maximum, a sum of exp and a weighted sum of V.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/contract/page_layout.h"
#include "kernels/cpu/dispatch/vector_ops_table.h"

namespace satchel::kernels::cpu {

inline constexpr std::size_t kTileTokens = 128;
inline constexpr std::size_t kWidthStep = 16;  // rows of V sums are padded to whole registers

struct LaneRows {
  const float* q = nullptr;                 // [n_rows, head_dim]
  const float* q_slots = nullptr;           // [n_rows, head_dim] in the order of slots, or null
  const std::int32_t* positions = nullptr;  // [n_rows]
  std::size_t n_rows = 0, head_dim = 0;
  std::size_t width = 0;      // head_dim rounded up to kWidthStep
  std::size_t window = 0;     // 0: none
  float soft_cap = 0;         // 0: none
  float* most = nullptr;      // [n_rows] largest logit, -infinity at first
  float* total = nullptr;     // [n_rows] sum of exp(logit - most)
  float* sum = nullptr;       // [n_rows, width] sum of exp(logit - most) · v
  bool asks_into_l2 = false;  // for what comes next (cpu_level.h)
};

// Up to 128 tokens: their positions, and which of them are live.
struct TileTokens {
  const std::int32_t* positions = nullptr;  // [n_tokens], rising
  std::size_t n_tokens = 0;
  std::int32_t shift = 0;               // added to the positions
  const std::uint64_t* live = nullptr;  // [2] the words of a LiveMask, or null: all
  const float* log_counts = nullptr;    // [n_tokens] added to the logits, or null
};

// Tokens as fp32: keys transposed, so that a register holds neighbouring tokens.
struct KeyTile {
  float* k = nullptr;  // [head_dim, kTileTokens]; columns from n_tokens on are finite
  float* v = nullptr;  // [kTileTokens, width]; channels from head_dim on are 0
  TileTokens tokens;
};

struct ExactTile {
  const Half* k = nullptr;  // [n_tokens, head_dim]
  const Half* v = nullptr;  // [n_tokens, head_dim]
  TileTokens tokens;
};

// The planes of an affine operand (page_layout.h).
struct AffinePlanes {
  const std::byte* codes = nullptr;
  const std::byte* low_codes = nullptr;  // 3 bits: the lowest one
  const std::byte* scales = nullptr;
  const std::byte* zeros = nullptr;  // null: symmetric
  std::size_t bits = 0, group = 0;   // bits of a value
};

inline constexpr std::size_t kMixedBitParts = 3;  // 7 = 4 + 2 + 1

// One part of a quad: the place of its codes, and its index among its quad's parts.
struct QuadPart {
  std::uint16_t at;  // in parts of one bit
  std::uint8_t part, quad;
};

// The parts of a page's keys, the same for every capacity.
//   weights  the weight of each part of a channel's code: 2^(bits below it), 0 if there is none
struct KeyParts {
  alignas(64) float weights[kMixedBitParts][kHeadDimMax];
  std::size_t n_parts = 0;                          // of the quad that has most
  QuadPart of_bits[kMixedBitParts][2 * kQuadsMax];  // of 4 bits, of 2, of 1; 8 bits are twice 4
  std::size_t n_of_bits[kMixedBitParts] = {};
};

// Those of mixed-bit keys (mixed_bit.h).
struct MixedBitPlanes {
  const std::byte* codes = nullptr;  // null: keys are affine
  const std::byte* scales = nullptr;
  const std::byte* zeros = nullptr;
  const std::uint8_t* quad_bits = nullptr;
  const KeyParts* parts = nullptr;  // for few rows
};

struct CodeTile {
  AffinePlanes k, v;
  MixedBitPlanes mixed_bit_k;  // instead of k's planes
  std::size_t capacity = 0;
  TileTokens tokens;
  const std::byte* next = nullptr;  // a page like this one that will be asked for soon, or null
  std::size_t next_bytes = 0;
};

struct AttendTable {
  // Few rows on codes, by integer products, for pages with has_code_kernel().
  void (*code_tokens)(const LaneRows& rows, const CodeTile& tile);
  // Few rows on up to 128 exact tokens; head_dim is a multiple of 16.
  void (*exact_tokens)(const LaneRows& rows, const ExactTile& tile);
  // Cosines and sines of a position, as VectorOpsTable::rotation: [n_pairs, 2].
  void (*rotation)(std::int32_t position, const double* inverse_frequency, std::size_t n_pairs,
                   float* out);
  // The pairs of all rows by the same rotations.
  void (*rotate)(const RopeJob& rows);
  // Rows times a matrix, in place (contract/transform.h); n is a multiple of 16. Keys bit for bit
  // as the reference.
  void (*transform_keys)(const float* matrix, float* rows, std::size_t n_rows, std::size_t n);
  void (*transform_queries)(const float* matrix, float* rows, std::size_t n_rows, std::size_t n);
  // Rows [n_rows, head_dim] transformed in place, bit for bit as
  // transform_rows(Transform::hadamard) does it.
  void (*transform_hadamard)(float* rows, std::size_t n_rows, std::size_t head_dim);
  // Many rows on a tile.
  void (*tile)(const LaneRows& rows, const KeyTile& tile);

  // The parts of a KeyTile (tile_fill.h puts them together): n_tokens or a page's capacity of
  // them. Columns of keys are written to whole pairs of registers.
  void (*exact_keys)(const Half* k, std::size_t n_tokens, std::size_t head_dim, float* tile_k);
  void (*exact_values)(const Half* v, std::size_t n_tokens, std::size_t head_dim, float* tile_v);
  void (*plain_keys)(const float* k, std::size_t n_tokens, std::size_t head_dim, float* tile_k);
  void (*affine_keys)(const AffinePlanes& planes, std::size_t capacity, std::size_t head_dim,
                      float* tile_k);
  void (*mixed_bit_keys)(const MixedBitPlanes& planes, std::size_t capacity, std::size_t head_dim,
                         float* tile_k);
  void (*affine_values)(const AffinePlanes& planes, std::size_t capacity, std::size_t head_dim,
                        float* tile_v);
};

extern const AttendTable kAttendAvx2, kAttendAvx512, kAttendAvx512Vnni;

}  // namespace satchel::kernels::cpu
