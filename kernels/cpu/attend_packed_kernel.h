// Attention of few query rows on one page of 2-bit codes, by integers straight on the codes.
//   K  logit = Σ (q·s)·code + q·z: q is folded with the scales of each group of tokens, to 16 bits
//      with one fp32 factor; the dot product is exact in int32; q·z is one fp32 number per group
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

// Rows of kWords words of 2-bit codes, in up to kGroups groups of rows.
template <class V, std::size_t kWords, std::size_t kGroups>
struct PackedDot {
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr std::size_t kPairs = 8 * kWords;  // 32-bit pairs of values in a row
  static constexpr std::size_t kRegisters = kDotRows * kWords / V::kLanes;

  struct Plane {
    alignas(64) float even[kPairs], odd[kPairs];
  };
  using Folded = std::uint32_t[kPairs];
  // Query rows (or weights) times the scales of each group, in 16 bits:
  // Σ x·(scale·code + zero) ≈ factor · Σ codes·code + offset
  template <std::size_t kRows>
  struct Folding {
    static constexpr std::size_t kAll = (kRows * kGroups + kDotRows - 1) / kDotRows * kDotRows;
    alignas(64) Folded codes[kGroups][kRows];
    alignas(64) float factor[kAll], offset[kAll];  // [kRows, kGroups], to whole reductions
  };
  struct Planes {
    const std::byte* scales;  // [n_groups, 16 · kWords] fp16 in storage order
    const std::byte* zeros;
    std::size_t n_groups;
  };

  template <class Body>
  SATCHEL_INLINE void for_pairs(const Body& body) {
    unroll<0, kPairs / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      body(i.value * V::kLanes);
    });
  }

  // One row of a scale or zero plane: fp16 in storage order to fp32 planes.
  SATCHEL_INLINE void load_plane(const std::byte* halves, Plane& plane) {
    __m256 turned[kWords];
    transpose_words<kWords>(halves, turned);
    unroll<0, kPairs / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      const Float pairs = V::joined(turned, i.value);
      V::store(plane.even + i.value * V::kLanes, V::low_halves(pairs));
      V::store(plane.odd + i.value * V::kLanes, V::high_halves(pairs));
    });
  }

  // The largest |x·scale|, still lane by lane.
  SATCHEL_INLINE Float largest_of(const float* x, const Plane& scales) {
    Float most = V::zero_float();
    for_pairs([&](std::size_t i) __attribute__((always_inline)) {
      const Float e = V::mul(V::load_float(x + i), V::load_float(scales.even + i));
      const Float o = V::mul(V::load_float(x + kPairs + i), V::load_float(scales.odd + i));
      most = V::max(most, V::max(V::magnitude(e), V::magnitude(o)));
    });
    return most;
  }

  // What rounding leaves meets the mean code, 1.5, in the offset: only the codes' spread errs.
  SATCHEL_INLINE Float fold(const float* x, float units, float factor, const Plane& scales,
                            const Plane& zeros, Folded& folded) {
    const Float to_units = V::broadcast_float(units);
    Float left = V::zero_float(), even = V::zero_float(), odd = V::zero_float();
    for_pairs([&](std::size_t i) __attribute__((always_inline)) {
      const Float x_even = V::load_float(x + i), x_odd = V::load_float(x + kPairs + i);
      const Float e = V::mul(V::mul(x_even, to_units), V::load_float(scales.even + i));
      const Float o = V::mul(V::mul(x_odd, to_units), V::load_float(scales.odd + i));
      const Int e_units = V::round_to_int(e), o_units = V::round_to_int(o);
      V::store_int(folded + i, V::pairs_of(e_units, o_units));
      left = V::add(left, V::add(V::sub(e, V::to_float(e_units)), V::sub(o, V::to_float(o_units))));
      even = V::fma(x_even, V::load_float(zeros.even + i), even);
      odd = V::fma(x_odd, V::load_float(zeros.odd + i), odd);
    });
    return V::fma(left, V::broadcast_float(1.5f * factor), V::add(even, odd));
  }

  // Rows of x lie 2 · kPairs floats apart, in the order of attend_packed.h.
  template <std::size_t kRows>
  SATCHEL_INLINE void fold_all(const float* x, const Planes& planes, Folding<kRows>& out) {
    constexpr std::size_t kRowBytes = 2 * kPairs * sizeof(Half);
    constexpr std::size_t kAll = Folding<kRows>::kAll;
    Plane scales[kGroups];
    Float reduced[kAll];  // one register for each row and group, until 16 of them are reduced
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t g = planes.n_groups; g < kGroups; ++g)
        reduced[r * kGroups + g] = V::zero_float();
    for (std::size_t i = kRows * kGroups; i < kAll; ++i) reduced[i] = V::zero_float();
    for (std::size_t g = 0; g < planes.n_groups; ++g) {
      load_plane(planes.scales + g * kRowBytes, scales[g]);
      for (std::size_t r = 0; r < kRows; ++r)
        reduced[r * kGroups + g] = largest_of(x + r * 2 * kPairs, scales[g]);
    }
    alignas(64) float units[kAll];
    for (std::size_t i = 0; i < kAll; i += kDotRows)
      V::units_of_registers(reduced + i, units + i, out.factor + i);
    for (std::size_t g = 0; g < planes.n_groups; ++g) {
      Plane zeros;
      load_plane(planes.zeros + g * kRowBytes, zeros);
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t i = r * kGroups + g;
        reduced[i] =
            fold(x + r * 2 * kPairs, units[i], out.factor[i], scales[g], zeros, out.codes[g][r]);
      }
    }
    for (std::size_t i = 0; i < kAll; i += kDotRows) V::sum_registers(reduced + i, out.offset + i);
  }

  // sums[r][k] = codes of row k with those of query row r, for 16 rows of codes one after another.
  template <std::size_t kRows>
  SATCHEL_INLINE void dot_rows(const std::byte* codes, const Folded* folded,
                               float (*sums)[kDotRows]) {
    Int partial[kRows][kRegisters];
    const Int mask = V::words(3);
    for (std::size_t k = 0; k < kRegisters; ++k) {
      const Int words = V::load(codes + k * sizeof(Int));
      const std::size_t part = kWords > V::kLanes ? k % 2 * V::kLanes : 0;
      Int sum[kRows];
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) { sum[r.value] = V::zero(); });
      unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
        const Int pair = V::and_(V::template shift_right<2 * i.value>(words), mask);
        unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
          sum[r.value] =
              V::dot(sum[r.value], pair,
                     V::template load_words<kWords>(folded[r.value] + i.value * kWords + part));
        });
      });
      unroll<0, kRows>([&](auto r)
                           __attribute__((always_inline)) { partial[r.value][k] = sum[r.value]; });
    }
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      V::template sum_rows<kWords>(partial[r.value], sums[r.value]);
    });
  }
};

template <class V, std::size_t kHeadDim>
struct PackedPage {
  using Float = typename V::Float;
  static constexpr std::size_t kKeyGroups = kPageTokens / 16, kValueGroups = kHeadDim / 16;
  using Keys = PackedDot<V, kHeadDim / 16, kKeyGroups>;
  using Values = PackedDot<V, kPageTokens / 16, kValueGroups>;

  // Asks for a share of the page that comes next: the processor's own prefetching ends at 4 KiB.
  struct Prefetch {
    const std::byte* next;  // or null
    std::size_t bytes_of_step;
    SATCHEL_INLINE Prefetch of(const std::byte* next, std::size_t bytes) {
      constexpr std::size_t kSteps = (kPageTokens + kHeadDim) / kDotRows;
      return {next, bytes / kSteps};
    }
    [[gnu::always_inline]] inline void step() {
      if (next == nullptr) return;
      for (std::size_t i = 0; i < bytes_of_step; i += 64) __builtin_prefetch(next + i);
      next += bytes_of_step;
    }
  };

  // Calls body(i) for the registers of 16 values.
  template <class Body>
  SATCHEL_INLINE void for_sums(const Body& body) {
    unroll<0, kDotRows / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      body(i.value * V::kLanes);
    });
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void logits(const float* q_planes, const PageView& page, Prefetch& prefetch,
                             float (*out)[kPageTokens]) {
    const PageLayout& layout = *page.layout;
    typename Keys::template Folding<kRows> q;
    Keys::template fold_all<kRows>(q_planes,
                                   {.scales = page.bytes + layout.k_scale_at,
                                    .zeros = page.bytes + layout.k_zero_at,
                                    .n_groups = kPageTokens / layout.k_group},
                                   q);
    for (std::size_t t = 0; t < kPageTokens; t += kDotRows) {
      const std::size_t g = t / layout.k_group;
      prefetch.step();
      float sums[kRows][kDotRows];
      Keys::template dot_rows<kRows>(page.bytes + layout.k_codes_at + t * (kHeadDim / 4),
                                     q.codes[g], sums);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Float factor = V::broadcast_float(q.factor[r * kKeyGroups + g]);
        const Float offset = V::broadcast_float(q.offset[r * kKeyGroups + g]);
        for_sums([&](std::size_t i) __attribute__((always_inline)) {
          V::store(out[r] + t + i, V::fma(V::load_float(sums[r] + i), factor, offset));
        });
      }
    }
  }

  // 128 values of tokens in order, to planes: of pairs (64·j + 8·i + 2·t, + 1) word w = 2·t + j.
  SATCHEL_INLINE void tokens_to_planes(const float* p, float* planes) {
    __m256 even[8], odd[8];
    unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
      const __m256 a = _mm256_loadu_ps(p + 8 * i.value), b = _mm256_loadu_ps(p + 64 + 8 * i.value);
      even[i.value] = _mm256_blend_ps(a, _mm256_moveldup_ps(b), 0xaa);
      odd[i.value] = _mm256_blend_ps(_mm256_movehdup_ps(a), b, 0xaa);
    });
    unroll<0, 64 / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      V::store(planes + i.value * V::kLanes, V::joined(even, i.value));
      V::store(planes + 64 + i.value * V::kLanes, V::joined(odd, i.value));
    });
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void add_values(const float (*p_planes)[kPageTokens], const PageView& page,
                                 Prefetch& prefetch, const float* shrink, float* sum,
                                 std::size_t width) {
    const PageLayout& layout = *page.layout;
    typename Values::template Folding<kRows> p;
    Values::template fold_all<kRows>(p_planes[0],
                                     {.scales = page.bytes + layout.v_scale_at,
                                      .zeros = page.bytes + layout.v_zero_at,
                                      .n_groups = kHeadDim / layout.v_group},
                                     p);
    for (std::size_t c = 0; c < kHeadDim; c += kDotRows) {
      const std::size_t g = c / layout.v_group;
      prefetch.step();
      float sums[kRows][kDotRows];
      Values::template dot_rows<kRows>(page.bytes + layout.v_codes_at + c * (kPageTokens / 4),
                                       p.codes[g], sums);
      for (std::size_t r = 0; r < kRows; ++r) {
        float* to = sum + r * width + c;
        const Float factor = V::broadcast_float(p.factor[r * kValueGroups + g]),
                    kept = V::broadcast_float(shrink[r]);
        const Float offset = V::broadcast_float(p.offset[r * kValueGroups + g]);
        for_sums([&](std::size_t i) __attribute__((always_inline)) {
          const Float added = V::fma(V::load_float(sums[r] + i), factor, offset);
          V::store(to + i, V::fma(V::load_float(to + i), kept, added));
        });
      }
    }
  }

  template <std::size_t kRows>
  static void rows(const LaneRows& all, std::size_t first, const std::size_t* visible,
                   const PageView& page, const std::byte* next) {
    Prefetch prefetch = Prefetch::of(next, page.layout->bytes);
    alignas(64) float weights[kRows][kPageTokens], planes[kRows][kPageTokens];
    float shrink[kRows];
    logits<kRows>(all.q_planes + first * kHeadDim, page, prefetch, weights);
    for (std::size_t r = 0; r < kRows; ++r) {
      shrink[r] = 1;
      if (visible[r] > 0)
        shrink[r] =
            Softmax<V>::step(weights[r], visible[r], all.most[first + r], all.total[first + r]);
      else
        __builtin_memset(weights[r], 0, sizeof weights[r]);
      tokens_to_planes(weights[r], planes[r]);
    }
    add_values<kRows>(planes, page, prefetch, shrink, all.sum + first * all.width, all.width);
  }

  static void run(const LaneRows& all, const PageView& page, const std::byte* next) {
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
        unroll<1, kPackedRowsMax + 1>([&](auto rows_of) __attribute__((always_inline)) {
          if (n == rows_of.value)
            rows<rows_of.value>(all, first, visible, page, first == 0 ? next : nullptr);
        });
      }
      first += n;
    }
  }
};

template <class V>
void attend_packed_page(const LaneRows& rows, const PageView& page, const std::byte* next) {
  if (rows.head_dim == 64)
    PackedPage<V, 64>::run(rows, page, next);
  else if (rows.head_dim == 128)
    PackedPage<V, 128>::run(rows, page, next);
  else
    PackedPage<V, 256>::run(rows, page, next);
}

}  // namespace
}  // namespace satchel::kernels::cpu
