// Attention of few query rows on one page of 2-bit codes, by integers straight on the codes.
//   K  logit = Σ (q·s)·code + q·z: q is folded with the scales of a group of tokens, to 16 bits with
//      one fp32 factor; the dot product is exact in int32; q·z is one fp32 number per group
//   V  out = Σ (p·s)·code + p·z likewise: a row of codes is a channel, p is folded per group of
//      channels
//   both are the same product, of rows of codes with folded rows in the order of attend_packed.h;
//   all query rows (up to 8 at a time) share one unpacking
//   error  about 1e-5 of the largest folded value; ../shared/methods/codecs.md 0.2
#pragma once

#include "kernels/cpu/attend_softmax.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kPackedRowsMax = 8;  // rows that share one unpacking: a sum each in registers
constexpr std::size_t kDotRows = 16;       // rows of codes a call takes; every group is a multiple

// Rows of kWords words of 2-bit codes.
template <class V, std::size_t kWords>
struct PackedDot {
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr std::size_t kPairs = 8 * kWords;  // 32-bit pairs of values in a row
  static constexpr std::size_t kRegisters = kDotRows * kWords / V::kLanes;

  struct Planes {
    alignas(64) float even[kPairs], odd[kPairs];
  };
  using Folded = std::uint32_t[kPairs];

  // One row of a scale or zero plane: fp16 in storage order to fp32 planes.
  SATCHEL_INLINE void load_planes(const std::byte* halves, Planes& planes) {
    alignas(64) std::uint32_t words[kPairs], turned[kPairs];
    __builtin_memcpy(words, halves, sizeof words);
    if constexpr (kWords == 4) {
      for (std::size_t i = 0; i < 8; i += 4) {
        __m128 r[4];
        for (std::size_t w = 0; w < 4; ++w)
          r[w] = _mm_load_ps(reinterpret_cast<const float*>(words + 8 * w + i));
        _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]);
        for (std::size_t k = 0; k < 4; ++k)
          _mm_store_ps(reinterpret_cast<float*>(turned + 4 * (i + k)), r[k]);
      }
    } else {
      for (std::size_t w = 0; w < kWords; w += 8)
        transpose_words(words + 8 * w, 8, turned + w, kWords);
    }
    for (std::size_t i = 0; i < kPairs; i += V::kLanes) {
      const Int pairs = V::load(turned + i);
      V::store(planes.even + i, V::low_halves(pairs));
      V::store(planes.odd + i, V::high_halves(pairs));
    }
  }

  // Σ x·y over both planes; x as two planes side by side.
  SATCHEL_INLINE float dot(const float* x, const Planes& y) {
    Float even = V::zero_float(), odd = V::zero_float();
    for (std::size_t i = 0; i < kPairs; i += V::kLanes) {
      even = V::fma(V::load_float(x + i), V::load_float(y.even + i), even);
      odd = V::fma(V::load_float(x + kPairs + i), V::load_float(y.odd + i), odd);
    }
    return V::sum(V::add(even, odd));
  }

  // Folds x with the scales to 16 bits: Σ x·scale·code ≈ factor · Σ folded·code + offset. What
  // rounding leaves meets the mean code, 1.5, in the offset: only the codes' spread errs.
  struct Line {
    float factor, offset;
  };
  SATCHEL_INLINE Line fold(const float* x, const Planes& scales, const Planes& zeros,
                           Folded& folded) {
    alignas(64) float even[kPairs], odd[kPairs];
    Float most = V::zero_float();
    for (std::size_t i = 0; i < kPairs; i += V::kLanes) {
      const Float e = V::mul(V::load_float(x + i), V::load_float(scales.even + i));
      const Float o = V::mul(V::load_float(x + kPairs + i), V::load_float(scales.odd + i));
      V::store(even + i, e);
      V::store(odd + i, o);
      most = V::max(most, V::max(V::magnitude(e), V::magnitude(o)));
    }
    const float largest = V::largest(most);
    if (!(largest > 1e-30f)) {  // nothing but zeros, or so small that the units would overflow
      __builtin_memset(folded, 0, sizeof folded);
      return {0, dot(x, zeros)};
    }
    const Float units = V::broadcast_float(32767.0f / largest);
    Float left = V::zero_float();
    for (std::size_t i = 0; i < kPairs; i += V::kLanes) {
      const Float e = V::mul(V::load_float(even + i), units);
      const Float o = V::mul(V::load_float(odd + i), units);
      const Int e_units = V::round_to_int(e), o_units = V::round_to_int(o);
      V::store_int(folded + i, V::pairs_of(e_units, o_units));
      left = V::add(left, V::add(V::sub(e, V::to_float(e_units)), V::sub(o, V::to_float(o_units))));
    }
    const float factor = largest / 32767.0f;
    return {factor, dot(x, zeros) + 1.5f * factor * V::sum(left)};
  }

  // sums[r][k] = folded[r] · codes of row k, for 16 rows of codes that lie one after another.
  template <std::size_t kRows>
  SATCHEL_INLINE void dot_rows(const std::byte* codes, const Folded* folded,
                               float (*sums)[kDotRows]) {
    Int partial[kRows][kRegisters];
    const Int mask = V::words(3);
    for (std::size_t k = 0; k < kRegisters; ++k) {
      const Int words = V::load(codes + k * sizeof(Int));
      const std::size_t part = kWords > V::kLanes ? k % 2 * V::kLanes : 0;
      Int sum[kRows];
      unroll<0, kRows>([&](auto r) { sum[r.value] = V::zero(); });
      unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
        const Int pair = V::and_(V::template shift_right<2 * i.value>(words), mask);
        unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
          sum[r.value] =
              V::dot(sum[r.value], pair,
                     V::template load_words<kWords>(folded[r.value] + i.value * kWords + part));
        });
      });
      unroll<0, kRows>([&](auto r) { partial[r.value][k] = sum[r.value]; });
    }
    for (std::size_t r = 0; r < kRows; ++r) V::template sum_rows<kWords>(partial[r], sums[r]);
  }
};

template <class V, std::size_t kHeadDim>
struct PackedPage {
  using Float = typename V::Float;
  using Keys = PackedDot<V, kHeadDim / 16>;
  using Values = PackedDot<V, kPageTokens / 16>;

  // to = from · factor + offset, for 16 values
  SATCHEL_INLINE void scale(const float* from, float factor, float offset, float* to) {
    for (std::size_t i = 0; i < kDotRows; i += V::kLanes)
      V::store(to + i, V::fma(V::load_float(from + i), V::broadcast_float(factor),
                              V::broadcast_float(offset)));
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void logits(const float* q_planes, const PageView& page,
                             float (*out)[kPageTokens]) {
    const PageLayout& layout = *page.layout;
    for (std::size_t first = 0; first < kPageTokens; first += layout.k_group) {
      const std::size_t plane = first / layout.k_group * kHeadDim * sizeof(Half);
      typename Keys::Planes scales, zeros;
      Keys::load_planes(page.bytes + layout.k_scale_at + plane, scales);
      Keys::load_planes(page.bytes + layout.k_zero_at + plane, zeros);
      alignas(64) typename Keys::Folded folded[kRows];
      typename Keys::Line line[kRows];
      for (std::size_t r = 0; r < kRows; ++r)
        line[r] = Keys::fold(q_planes + r * kHeadDim, scales, zeros, folded[r]);
      for (std::size_t t = first; t < first + layout.k_group; t += kDotRows) {
        float sums[kRows][kDotRows];
        Keys::template dot_rows<kRows>(page.bytes + layout.k_codes_at + t * (kHeadDim / 4), folded,
                                       sums);
        for (std::size_t r = 0; r < kRows; ++r)
          scale(sums[r], line[r].factor, line[r].offset, out[r] + t);
      }
    }
  }

  // 128 values of tokens in order, to planes: of pairs (64·j + 8·i + 2·t, + 1) word w = 2·t + j.
  SATCHEL_INLINE void tokens_to_planes(const float* p, float* planes) {
    for (std::size_t i = 0; i < 8; ++i) {
      const __m256 a = _mm256_loadu_ps(p + 8 * i), b = _mm256_loadu_ps(p + 64 + 8 * i);
      _mm256_storeu_ps(planes + 8 * i, _mm256_blend_ps(a, _mm256_moveldup_ps(b), 0xaa));
      _mm256_storeu_ps(planes + 64 + 8 * i, _mm256_blend_ps(_mm256_movehdup_ps(a), b, 0xaa));
    }
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void add_values(const float (*p_planes)[kPageTokens], const PageView& page,
                                 const float* shrink, float* sum, std::size_t width) {
    const PageLayout& layout = *page.layout;
    for (std::size_t first = 0; first < kHeadDim; first += layout.v_group) {
      const std::size_t plane = first / layout.v_group * kPageTokens * sizeof(Half);
      typename Values::Planes scales, zeros;
      Values::load_planes(page.bytes + layout.v_scale_at + plane, scales);
      Values::load_planes(page.bytes + layout.v_zero_at + plane, zeros);
      alignas(64) typename Values::Folded folded[kRows];
      typename Values::Line line[kRows];
      for (std::size_t r = 0; r < kRows; ++r)
        line[r] = Values::fold(p_planes[r], scales, zeros, folded[r]);
      for (std::size_t c = first; c < first + layout.v_group; c += kDotRows) {
        float sums[kRows][kDotRows];
        Values::template dot_rows<kRows>(page.bytes + layout.v_codes_at + c * (kPageTokens / 4),
                                         folded, sums);
        for (std::size_t r = 0; r < kRows; ++r) {
          float* to = sum + r * width + c;
          scale(sums[r], line[r].factor, line[r].offset, sums[r]);
          for (std::size_t i = 0; i < kDotRows; i += V::kLanes)
            V::store(to + i, V::fma(V::load_float(to + i), V::broadcast_float(shrink[r]),
                                    V::load_float(sums[r] + i)));
        }
      }
    }
  }

  template <std::size_t kRows>
  static void rows(const LaneRows& all, std::size_t first, const std::size_t* visible,
                   const PageView& page) {
    alignas(64) float weights[kRows][kPageTokens], planes[kRows][kPageTokens];
    float shrink[kRows];
    logits<kRows>(all.q_planes + first * kHeadDim, page, weights);
    for (std::size_t r = 0; r < kRows; ++r) {
      shrink[r] = 1;
      if (visible[r] > 0)
        shrink[r] =
            Softmax<V>::step(weights[r], visible[r], all.most[first + r], all.total[first + r]);
      else
        __builtin_memset(weights[r], 0, sizeof weights[r]);
      tokens_to_planes(weights[r], planes[r]);
    }
    add_values<kRows>(planes, page, shrink, all.sum + first * all.width, all.width);
  }

  static void run(const LaneRows& all, const PageView& page) {
    const auto* positions =
        reinterpret_cast<const std::int32_t*>(page.bytes + page.layout->positions_at);
    for (std::size_t first = 0; first < all.n_rows;) {
      const std::size_t left = all.n_rows - first;
      const std::size_t n = left < kPackedRowsMax ? left : kPackedRowsMax;
      std::size_t visible[kPackedRowsMax], most = 0;
      for (std::size_t r = 0; r < n; ++r) {
        visible[r] = visible_tokens(positions, kPageTokens, all.positions[first + r]);
        most = visible[r] > most ? visible[r] : most;
      }
      if (most > 0) {
        unroll<1, kPackedRowsMax + 1>([&](auto rows_of) {
          if (n == rows_of.value) rows<rows_of.value>(all, first, visible, page);
        });
      }
      first += n;
    }
  }
};

template <class V>
void attend_packed_page(const LaneRows& rows, const PageView& page) {
  if (rows.head_dim == 64)
    PackedPage<V, 64>::run(rows, page);
  else if (rows.head_dim == 128)
    PackedPage<V, 128>::run(rows, page);
  else
    PackedPage<V, 256>::run(rows, page);
}

}  // namespace
}  // namespace satchel::kernels::cpu
