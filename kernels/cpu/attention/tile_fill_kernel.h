// Makes a KeyTile: K transformed so that tokens lie side by side, V as it is, both fp32.
//   codes  a word of codes is gathered from kFloats rows at once and taken apart: the rows of K are
//          tokens, the rows of V channels, so both come out transformed, and the scale of a slot is
//          one number for a whole register (a group is a multiple of 16 rows)
//   bits   values are code · scale + zero in two roundings, or (code - middle) · scale in one, as
//          decode_pages gives them (before it transforms them back)
#pragma once

#include "kernels/contract/row_order.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/levels/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

// n_rows rows of n_entries packed codes; one row of scales and one of zeros for a group of rows.
struct CodeRows {
  AffinePlanes planes;
  std::size_t n_rows, n_entries;
};

template <class V>
struct TileFill {
  using Int = typename V::Int;
  using Float = typename V::Float;

  // Scales and zeros of one group of rows; symmetric: no zeros.
  template <bool kSymmetric>
  SATCHEL_INLINE void load_ranges(const CodeRows& rows, std::size_t row, float* scales,
                                  float* zeros) {
    const AffinePlanes& planes = rows.planes;
    const std::size_t at = row / planes.group * rows.n_entries * sizeof(Half);
    for (std::size_t s = 0; s < rows.n_entries; s += V::kFloats) {
      V::store(scales + s, V::load_half(planes.scales + at + s * sizeof(Half)));
      if constexpr (!kSymmetric)
        V::store(zeros + s, V::load_half(planes.zeros + at + s * sizeof(Half)));
    }
  }

  // out[entry][row] = value; rows of `out` lie out_stride floats apart.
  template <bool kLow, bool kSymmetric>
  static void transform_codes(const CodeRows& rows, float* out, std::size_t out_stride) {
    const AffinePlanes& planes = rows.planes;
    const std::size_t bits = kLow ? 2 : planes.bits, in_word = 32 / bits;
    const std::size_t stride = row_bytes(bits, rows.n_entries);
    const std::size_t low_stride = row_bytes(1, rows.n_entries);
    const unsigned mask = (1u << bits) - 1;
    const Float middle = V::broadcast_float(static_cast<float>((1u << planes.bits) - 1) * 0.5f);
    std::size_t entry_of[kHeadDimMax];
    for (std::size_t s = 0; s < rows.n_entries; ++s)
      entry_of[s] = entry_of_slot(rows.n_entries, s) * out_stride;
    alignas(64) float scales[kHeadDimMax], zeros[kHeadDimMax];
    for (std::size_t row = 0; row < rows.n_rows; row += V::kFloats) {
      if (row % planes.group == 0) load_ranges<kSymmetric>(rows, row, scales, zeros);
      for (std::size_t first = 0; first < rows.n_entries; first += in_word) {
        const Int words = V::gather_words(planes.codes + row * stride + first * bits / 8, stride);
        Int low = words;
        if constexpr (kLow)
          low = V::gather_words(planes.low_codes + row * low_stride + first / 32 * 4, low_stride);
        for (std::size_t s = first; s < first + in_word; ++s) {
          Int code = V::field(words, bit_of_slot(bits, s), mask);
          if constexpr (kLow)
            code = V::add(V::add(code, code), V::field(low, bit_of_slot(1, s), 1));
          const Float scale = V::broadcast_float(scales[s]);
          const Float value =
              kSymmetric ? V::mul(V::sub(V::to_float(code), middle), scale)
                         : V::add(V::mul(V::to_float(code), scale), V::broadcast_float(zeros[s]));
          V::store(out + entry_of[s] + row, value);
        }
      }
    }
  }
  SATCHEL_INLINE void transform_rows_of_codes(const CodeRows& rows, float* out,
                                              std::size_t out_stride) {
    const bool low = rows.planes.low_codes != nullptr, symmetric = rows.planes.zeros == nullptr;
    const auto transform =
        low ? (symmetric ? transform_codes<true, true> : transform_codes<true, false>)
            : (symmetric ? transform_codes<false, true> : transform_codes<false, false>);
    transform(rows, out, out_stride);
  }

  static void affine_keys(const AffinePlanes& planes, std::size_t capacity, std::size_t head_dim,
                          float* tile_k) {
    transform_rows_of_codes({.planes = planes, .n_rows = capacity, .n_entries = head_dim}, tile_k,
                            kTileTokens);
  }
  static void affine_values(const AffinePlanes& planes, std::size_t capacity, std::size_t head_dim,
                            float* tile_v) {
    transform_rows_of_codes({.planes = planes, .n_rows = head_dim, .n_entries = capacity}, tile_v,
                            head_dim);
  }

  // Columns from n_tokens on, which transposing wrote to the next multiple of 8, to the end of the
  // pair of registers that is read.
  SATCHEL_INLINE void clear_rest(std::size_t n_tokens, std::size_t head_dim, float* tile_k) {
    const std::size_t written = (n_tokens + 7) / 8 * 8;
    const std::size_t read = (n_tokens + 2 * V::kFloats - 1) / (2 * V::kFloats) * 2 * V::kFloats;
    for (std::size_t c = 0; c < head_dim && written < read; ++c)
      __builtin_memset(tile_k + c * kTileTokens + written, 0, (read - written) * sizeof(float));
  }
  static void exact_keys(const Half* k, std::size_t n_tokens, std::size_t head_dim, float* tile_k) {
    transpose_rows(k, n_tokens, head_dim, tile_k, kTileTokens);
    clear_rest(n_tokens, head_dim, tile_k);
  }
  static void plain_keys(const float* k, std::size_t n_tokens, std::size_t head_dim,
                         float* tile_k) {
    transpose_rows(k, n_tokens, head_dim, tile_k, kTileTokens);
    clear_rest(n_tokens, head_dim, tile_k);
  }

  static void exact_values(const Half* v, std::size_t n_tokens, std::size_t head_dim,
                           float* tile_v) {
    const std::size_t width = (head_dim + kWidthStep - 1) / kWidthStep * kWidthStep;
    for (std::size_t t = 0; t < n_tokens; ++t) {
      const Half* from = v + t * head_dim;
      float* to = tile_v + t * width;
      std::size_t c = 0;
      for (; c + V::kFloats <= head_dim; c += V::kFloats) V::store(to + c, V::load_half(from + c));
      for (; c < head_dim; ++c) to[c] = _cvtsh_ss(from[c]);
      for (; c < width; ++c) to[c] = 0;
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
