// Makes a KeyTile: K turned so that tokens lie side by side, V as it is, both fp32.
//   codes  a word of codes is gathered from kLanes rows at once and taken apart: the rows of K are
//          tokens, the rows of V channels, so both come out turned, and the scale of a slot is one
//          number for all lanes (a group is a multiple of 16 rows)
//   bits   values are code · scale + zero in two roundings, as decode_page gives them
#pragma once

#include "kernels/contract/row_order.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

// n_rows rows of n_entries packed codes; one row of scales and one of zeros for `group` rows.
struct CodePlane {
  const std::byte* codes;
  const std::byte* scales;
  const std::byte* zeros;
  std::size_t n_rows, n_entries, bits, group;
};

template <class V>
struct TileFill {
  using Int = typename V::Int;
  using Float = typename V::Float;

  // out[entry][row] = value; rows of `out` lie out_stride floats apart.
  SATCHEL_INLINE void turn_codes(const CodePlane& plane, float* out, std::size_t out_stride) {
    const std::size_t row_bytes = plane.n_entries * plane.bits / 8, in_word = 32 / plane.bits;
    const unsigned mask = (1u << plane.bits) - 1;
    std::size_t entry_of[256];
    for (std::size_t s = 0; s < plane.n_entries; ++s)
      entry_of[s] = entry_of_slot(plane.n_entries, s) * out_stride;
    alignas(64) float scales[256], zeros[256];
    for (std::size_t row = 0; row < plane.n_rows; row += V::kLanes) {
      if (row % plane.group == 0) {
        const std::size_t at = row / plane.group * plane.n_entries * sizeof(Half);
        for (std::size_t s = 0; s < plane.n_entries; s += V::kLanes) {
          V::store(scales + s, V::load_half(plane.scales + at + s * sizeof(Half)));
          V::store(zeros + s, V::load_half(plane.zeros + at + s * sizeof(Half)));
        }
      }
      for (std::size_t first = 0; first < plane.n_entries; first += in_word) {
        const Int words =
            V::gather_words(plane.codes + row * row_bytes + first * plane.bits / 8, row_bytes);
        for (std::size_t s = first; s < first + in_word; ++s) {
          const Int code = V::field(words, bit_of_slot(plane.bits, s), mask);
          const Float value = V::add(V::mul(V::to_float(code), V::broadcast_float(scales[s])),
                                     V::broadcast_float(zeros[s]));
          V::store(out + entry_of[s] + row, value);
        }
      }
    }
  }

  static void affine(const PageLayout& layout, const std::byte* page, const KeyTile& tile) {
    const std::size_t d = layout.head_dim, width = (d + kWidthStep - 1) / kWidthStep * kWidthStep;
    turn_codes({.codes = page + layout.k_codes_at,
                .scales = page + layout.k_scale_at,
                .zeros = page + layout.k_zero_at,
                .n_rows = kPageTokens,
                .n_entries = d,
                .bits = layout.k_bits,
                .group = layout.k_group},
               tile.k, kTileTokens);
    turn_codes({.codes = page + layout.v_codes_at,
                .scales = page + layout.v_scale_at,
                .zeros = page + layout.v_zero_at,
                .n_rows = d,
                .n_entries = kPageTokens,
                .bits = layout.v_bits,
                .group = layout.v_group},
               tile.v, width);
  }

  static void keys(const ExactRun& run, std::size_t head_dim, const KeyTile& tile) {
    transpose_halves(run.k, run.n_tokens, head_dim, tile.k, kTileTokens);
    const std::size_t written = (run.n_tokens + 7) / 8 * 8;
    const std::size_t read = (run.n_tokens + 2 * V::kLanes - 1) / (2 * V::kLanes) * 2 * V::kLanes;
    for (std::size_t c = 0; c < head_dim && written < read; ++c)
      __builtin_memset(tile.k + c * kTileTokens + written, 0, (read - written) * sizeof(float));
  }

  static void exact(const ExactRun& run, std::size_t head_dim, const KeyTile& tile) {
    keys(run, head_dim, tile);
    const std::size_t width = (head_dim + kWidthStep - 1) / kWidthStep * kWidthStep;
    for (std::size_t t = 0; t < run.n_tokens; ++t) {
      const Half* from = run.v + t * head_dim;
      float* to = tile.v + t * width;
      std::size_t c = 0;
      for (; c + V::kLanes <= head_dim; c += V::kLanes) V::store(to + c, V::load_half(from + c));
      for (; c < head_dim; ++c) to[c] = _cvtsh_ss(from[c]);
      for (; c < width; ++c) to[c] = 0;
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
