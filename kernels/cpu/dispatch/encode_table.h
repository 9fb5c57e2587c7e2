// The kernels of one instruction level that encode pages and store rows (called by encode.cpp and
// move_rows.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"

namespace satchel::kernels::cpu {

// Groups of rows share, column by column, one scale and one minimum; a row becomes a row of codes
// (of 3 bits: two rows, of the upper two and of the lowest).
struct EncodeJob {
  const float* x = nullptr;  // [n_rows, n_columns], mended
  std::size_t n_rows = 0, n_columns = 0;
  std::size_t bits = 2, group = 16;      // rows of a group; the last may have fewer
  bool clips = false;                    // contract/clipping.h
  const std::uint16_t* slots = nullptr;  // [n_columns] slot_of_entry
  Half* scales = nullptr;                // [n_rows / group, n_columns] in storage order
  Half* zeros = nullptr;                 // null: symmetric
  std::byte* codes = nullptr;            // n_rows packed rows
  std::byte* low_codes = nullptr;        // likewise, of 3 bits only
};

// Mixed-bit keys (reference/codec_mixed_bit.h).
struct MixedBitJob {
  const float* x = nullptr;  // [n_tokens, head_dim], mended and transformed, n_tokens at least 1
  std::size_t n_tokens = 0, head_dim = 0;  // head_dim is a multiple of 16
  const std::uint8_t* quad_bits = nullptr;
  Half *scales = nullptr, *zeros = nullptr;  // [head_dim]
  std::uint8_t* codes = nullptr;             // [n_tokens, head_dim]
};

struct EncodeTable {
  void (*encode)(const EncodeJob& job);
  void (*encode_mixed_bit)(const MixedBitJob& job);
  // halves to floats clamped to ±60000; no NaN among them, n is a multiple of 16
  void (*load)(const Half* from, std::size_t n, float* to);
  void (*clamp)(float* x, std::size_t n);
  // halves [n_rows, n_columns] transformed: to[c · to_stride + r], likewise clamped; columns up to
  // the next multiple of 8 are 0 and to_stride has room for them
  void (*load_transformed)(const Half* from, std::size_t n_rows, std::size_t n_columns, float* to,
                           std::size_t to_stride);
  // columns of x [n_rows, n_columns], in place, as transform_rows() does with rows of n_rows values
  // in blocks of `block`, times `norm`
  void (*transform_columns)(float* x, std::size_t n_rows, std::size_t n_columns, std::size_t block,
                            float norm);
  bool (*all_finite)(const Half* x, std::size_t n);
  void (*store)(const float* from, std::size_t n, Half* to);
};

extern const EncodeTable kEncodeAvx2, kEncodeAvx512;

}  // namespace satchel::kernels::cpu
