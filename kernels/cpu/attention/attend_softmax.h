// Shared by the attention kernels: the attention mask as bits, and one step of online softmax.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/rows/vector_ops_kernel.h"

namespace satchel::kernels::cpu {
namespace {

// How many of n rising positions are at or before `position`.
SATCHEL_INLINE std::size_t visible_tokens(const std::int32_t* positions, std::size_t n,
                                          std::int64_t position) {
  if (n == 0 || positions[n - 1] <= position) return n;
  std::size_t low = 0, high = n - 1;  // the answer lies in [low, high]
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (positions[middle] <= position)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// A bit for each of up to 128 tokens.
struct TokenBits {
  std::uint64_t words[2];
};

SATCHEL_INLINE std::uint64_t first_bits_of_word(std::size_t n) {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

SATCHEL_INLINE TokenBits first_bits(std::size_t n) {
  return {{first_bits_of_word(n), n > 64 ? first_bits_of_word(n - 64) : 0}};
}

// Which tokens a query at `position` sees.
SATCHEL_INLINE TokenBits seen_tokens(const TileTokens& tokens, std::int32_t position,
                                     std::size_t window) {
  const std::int64_t at = std::int64_t{position} - tokens.shift;
  const std::size_t n = visible_tokens(tokens.positions, tokens.n_tokens, at);
  TokenBits seen = first_bits(n);
  if (window != 0 && n != 0) {
    const std::int64_t before = at - static_cast<std::int64_t>(window);
    const std::size_t gone =
        tokens.positions[0] > before ? 0 : visible_tokens(tokens.positions, n, before);
    seen.words[0] &= ~first_bits_of_word(gone);
    if (gone > 64) seen.words[1] &= ~first_bits_of_word(gone - 64);
  }
  if (tokens.live != nullptr) {
    seen.words[0] &= tokens.live[0];
    seen.words[1] &= tokens.live[1];
  }
  return seen;
}

// One past the last token seen; 0: none.
SATCHEL_INLINE std::size_t end_of(TokenBits seen) {
  if (seen.words[1] != 0) return 128 - static_cast<std::size_t>(__builtin_clzll(seen.words[1]));
  if (seen.words[0] != 0) return 64 - static_cast<std::size_t>(__builtin_clzll(seen.words[0]));
  return 0;
}

// Of kRows rows at once. `end`: one past the last token that any of them sees.
template <std::size_t kRows>
struct SeenByRows {
  TokenBits rows[kRows];
  std::size_t end = 0;

  SATCHEL_INLINE void find(SeenByRows& out, const LaneRows& all, std::size_t first,
                           const TileTokens& tokens) {
    for (std::size_t r = 0; r < kRows; ++r) {
      out.rows[r] = seen_tokens(tokens, all.positions[first + r], all.window);
      const std::size_t end = end_of(out.rows[r]);
      out.end = end > out.end ? end : out.end;
    }
  }
};

template <class V>
struct Softmax {
  using Float = typename V::Float;
  static constexpr std::uint32_t kAllFloats = (1u << V::kFloats) - 1;
  static constexpr std::size_t kRowsAtOnce = 4;

  // The bits of the register of tokens from t on.
  SATCHEL_INLINE std::uint32_t bits_at(const TokenBits& seen, std::size_t t) {
    return static_cast<std::uint32_t>(seen.words[t / 64] >> (t % 64)) & kAllFloats;
  }

  // a for elements whose bit is set, else b; mostly all are.
  SATCHEL_INLINE Float pick_seen(std::uint32_t bits, Float a, Float b) {
    return bits == kAllFloats ? a : V::pick_floats(bits, a, b);
  }

  // cap · tanh(logit / cap), then the logarithm of how many tokens each one stands for.
  SATCHEL_INLINE void adjust(float* logits, std::size_t end, float soft_cap,
                             const float* log_counts) {
    if (soft_cap != 0) {
      const Float cap = V::broadcast_float(soft_cap), share = V::broadcast_float(1 / soft_cap);
      for (std::size_t t = 0; t < end; t += V::kFloats) {
        const Float x = V::mul(V::load_float(logits + t), share);
        V::store(logits + t, V::mul(VectorOps<V>::tanh(x), cap));
      }
    }
    // Logits have whole registers, log_counts as well (a capacity is a multiple of 32).
    for (std::size_t t = 0; log_counts != nullptr && t < end; t += V::kFloats)
      V::store(logits + t, V::add(V::load_float(logits + t), V::load_float(log_counts + t)));
  }

  // e^x for x <= 0, at least e^-87: 2^n · 2^f, where adding kWhole leaves n in the lowest bits. The
  // polynomial is the best of degree 5 with p(0) = 1: 1e-7 of the result.
  SATCHEL_INLINE Float exp_of_negative(Float x) {
    const auto c = [](float value) SATCHEL_INLINE_LAMBDA { return V::broadcast_float(value); };
    constexpr float kWhole = 12582912;  // 1.5 · 2^23
    x = V::max(c(-87.0f), x);           // in this order a NaN stays
    const Float whole = V::fma(x, c(1.44269504f), c(kWhole));
    const Float f = V::fma(x, c(1.44269504f), V::sub(c(kWhole), whole));
    Float p = c(0.001326472731307149f);
    p = V::fma(p, f, c(0.009671512991189957f));
    p = V::fma(p, f, c(0.05550733581185341f));
    p = V::fma(p, f, c(0.24022242426872253f));
    p = V::fma(p, f, c(0.6931470036506653f));
    p = V::fma(p, f, c(1.0f));
    return V::add_to_exponent(p, whole);
  }

  // Turns 128 logits of up to four rows into exp(logit - new maximum) where they are seen and into
  // 0 elsewhere, and takes them into the rows' maxima and totals. `end`: one past the last that is
  // seen. A row comes out the same whatever rows stand beside it, and whether anything is masked or
  // not.
  //   shrink  by what a row's sum of V shrinks
  template <std::size_t kRows, bool kMasked>
  SATCHEL_INLINE void few_steps(float (*logits)[kTileTokens], const TokenBits* seen,
                                std::size_t end, float* most, float* total, float* shrink) {
    static_assert(kRows <= kRowsAtOnce);
    const Float none = V::broadcast_float(-__builtin_inff()), zero = V::zero_float();
    const auto pick = [seen](std::size_t r, std::size_t t, Float a, Float b) SATCHEL_INLINE_LAMBDA {
      return kMasked ? pick_seen(bits_at(seen[r], t), a, b) : a;
    };
    Float of_rows[kRowsAtOnce];
    unroll<0, kRowsAtOnce>([&](auto r) SATCHEL_INLINE_LAMBDA { of_rows[r.value] = none; });
    for (std::size_t t = 0; t < end; t += V::kFloats)
      unroll<0, kRows>([&](auto r) SATCHEL_INLINE_LAMBDA {
        of_rows[r.value] =
            V::max(of_rows[r.value], pick(r.value, t, V::load_float(logits[r.value] + t), none));
      });
    alignas(64) float of_row[16], by[16] = {};
    V::template max_registers<kRowsAtOnce>(of_rows, of_row);
    for (std::size_t r = 0; r < kRows; ++r) {
      const float now = of_row[r] > most[r] ? of_row[r] : most[r];
      by[r] = most[r] == now ? 0 : most[r] - now;  // nothing seen yet: of two infinities
      most[r] = now;
    }
    V::store(by, exp_of_negative(V::load_float(by)));
    for (std::size_t r = 0; r < kRows; ++r) shrink[r] = by[r];
    unroll<0, kRowsAtOnce>([&](auto r) SATCHEL_INLINE_LAMBDA { of_rows[r.value] = zero; });
    for (std::size_t t = 0; t < end; t += V::kFloats)
      unroll<0, kRows>([&](auto r) SATCHEL_INLINE_LAMBDA {
        const Float x =
            V::sub(V::load_float(logits[r.value] + t), V::broadcast_float(most[r.value]));
        const Float p = pick(r.value, t, exp_of_negative(x), zero);
        of_rows[r.value] = V::add(of_rows[r.value], p);
        V::store(logits[r.value] + t, p);
      });
    V::template sum_registers<kRowsAtOnce>(of_rows, of_row);
    for (std::size_t r = 0; r < kRows; ++r) {
      total[r] = total[r] * shrink[r] + of_row[r];
      for (std::size_t t = (end + V::kFloats - 1) / V::kFloats * V::kFloats; t < kTileTokens;
           t += V::kFloats)
        V::store(logits[r] + t, zero);
    }
  }

  // Logits of rows first … first + kRows - 1 to weights, in place; shrink[r] as few_steps() gives
  // it.
  template <std::size_t kRows>
  SATCHEL_INLINE void steps(const LaneRows& all, std::size_t first, const SeenByRows<kRows>& seen,
                            const float* log_counts, float (*logits)[kTileTokens], float* shrink) {
    const bool plain = all.soft_cap == 0 && log_counts == nullptr;
    const TokenBits whole = first_bits(seen.end);
    bool masked = seen.end % V::kFloats != 0;
    for (std::size_t r = 0; r < kRows; ++r) {
      masked |= seen.rows[r].words[0] != whole.words[0] || seen.rows[r].words[1] != whole.words[1];
      if (!plain) adjust(logits[r], seen.end, all.soft_cap, log_counts);
    }
    unroll<0, (kRows + kRowsAtOnce - 1) / kRowsAtOnce>([&](auto part) SATCHEL_INLINE_LAMBDA {
      constexpr std::size_t at = part.value * kRowsAtOnce;
      constexpr std::size_t n = kRows - at < kRowsAtOnce ? kRows - at : kRowsAtOnce;
      float *const most = all.most + first + at, *const total = all.total + first + at;
      if (masked)
        few_steps<n, true>(logits + at, seen.rows + at, seen.end, most, total, shrink + at);
      else
        few_steps<n, false>(logits + at, seen.rows + at, seen.end, most, total, shrink + at);
    });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
