// What the attention kernels share: who is seen, as bits, and one step of online softmax.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/vector_ops_kernel.h"

namespace satchel::kernels::cpu {
namespace {

// How many of n rising positions are not after `position`: what a query there may see comes first.
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

// Which tokens a query at `position` sees.
SATCHEL_INLINE TokenBits seen_tokens(const TileTokens& tokens, std::int32_t position,
                                     std::size_t window) {
  const std::int64_t at = std::int64_t{position} - tokens.shift;
  const std::size_t n = visible_tokens(tokens.positions, tokens.n_tokens, at);
  TokenBits seen = {{first_bits_of_word(n), n > 64 ? first_bits_of_word(n - 64) : 0}};
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
  static constexpr std::uint32_t kAllLanes = (1u << V::kLanes) - 1;

  // The bits of the register of tokens from t on.
  SATCHEL_INLINE std::uint32_t bits_at(const TokenBits& seen, std::size_t t) {
    return static_cast<std::uint32_t>(seen.words[t / 64] >> (t % 64)) & kAllLanes;
  }

  // a for lanes whose bit is set, else b; mostly all are.
  SATCHEL_INLINE Float pick_seen(std::uint32_t bits, Float a, Float b) {
    return bits == kAllLanes ? a : V::pick_lanes(bits, a, b);
  }

  // cap · tanh(logit / cap), then the logarithm of how many tokens each one stands for.
  SATCHEL_INLINE void adjust(float* logits, std::size_t end, float soft_cap,
                             const float* log_counts) {
    if (soft_cap != 0) {
      const Float cap = V::broadcast_float(soft_cap), share = V::broadcast_float(1 / soft_cap);
      for (std::size_t t = 0; t < end; t += V::kLanes) {
        const Float x = V::mul(V::load_float(logits + t), share);
        V::store(logits + t, V::mul(VectorOps<V>::tanh(x), cap));
      }
    }
    // Logits have whole registers, log_counts as well (a capacity is a multiple of 32).
    for (std::size_t t = 0; log_counts != nullptr && t < end; t += V::kLanes)
      V::store(logits + t, V::add(V::load_float(logits + t), V::load_float(log_counts + t)));
  }

  // Turns 128 logits into exp(logit - new maximum) where they are seen (at least one is) and into 0
  // elsewhere, and takes them into the row's maximum and total. Returns by what the row's sum of V
  // shrinks.
  SATCHEL_INLINE float step(float* logits, const TokenBits& seen, float& most, float& total) {
    const std::size_t end = end_of(seen);
    const Float none = V::broadcast_float(-__builtin_inff());
    Float top = none;
    for (std::size_t t = 0; t < end; t += V::kLanes)
      top = V::max(top, pick_seen(bits_at(seen, t), V::load_float(logits + t), none));
    const float highest = V::largest(top);
    const float now = highest > most ? highest : most;
    const Float offset = V::broadcast_float(now);
    Float added = V::zero_float();
    std::size_t t = 0;
    for (; t < end; t += V::kLanes) {
      const Float p =
          pick_seen(bits_at(seen, t), VectorOps<V>::exp(V::sub(V::load_float(logits + t), offset)),
                    V::zero_float());
      added = V::add(added, p);
      V::store(logits + t, p);
    }
    for (; t < kTileTokens; t += V::kLanes) V::store(logits + t, V::zero_float());
    const float shrink = most == now ? 1.0f : __builtin_expf(most - now);
    total = total * shrink + V::sum(added);
    most = now;
    return shrink;
  }

  // Logits of rows first … first + kRows - 1 to weights, in place; shrink[r] as step() returns it.
  template <std::size_t kRows>
  SATCHEL_INLINE void steps(const LaneRows& all, std::size_t first, const SeenByRows<kRows>& seen,
                            const float* log_counts, float (*logits)[kTileTokens], float* shrink) {
    const bool plain = all.soft_cap == 0 && log_counts == nullptr;
    for (std::size_t r = 0; r < kRows; ++r) {
      shrink[r] = 1;
      if ((seen.rows[r].words[0] | seen.rows[r].words[1]) == 0) {
        __builtin_memset(logits[r], 0, kTileTokens * sizeof(float));
        continue;
      }
      if (!plain) adjust(logits[r], seen.end, all.soft_cap, log_counts);
      shrink[r] = step(logits[r], seen.rows[r], all.most[first + r], all.total[first + r]);
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
