// Sums of exp(logit) of many query rows over a tile of keys. Rows stay in place, keys stream by.
//   sums    a row has a register of sums and a scalar offset, which is raised only when the largest
//           logit exceeds it by kSlack. So only the first tile and the few that raise it need a
//           horizontal reduction. A term is at most e^kSlack and the sum at least 1, so fp32
//           neither overflows nor loses precision.
//   source  arXiv:1805.02867 (online softmax)
//   differs the offset is not the maximum
#pragma once

#include "kernels/cpu/attention/attend_tile_kernel.h"
#include "kernels/cpu/attention/key_mask.h"
#include "kernels/cpu/dispatch/logsumexp_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct LogSumExpTile {
  using Float = typename V::Float;
  static constexpr float kSlack = 16;

  // What kRows rows see: bits, and the range that holds all of them.
  template <std::size_t kRows>
  struct Seen {
    TokenBits rows[kRows];
    std::size_t begin = kTileTokens, end = 0;
  };
  SATCHEL_INLINE bool is_whole(const TokenBits& seen) {
    return (seen.words[0] & seen.words[1]) == ~std::uint64_t{0};
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void find(const LogSumExpRows& all, std::size_t first, const TileTokens& tokens,
                           Seen<kRows>& out) {
    for (std::size_t r = 0; r < kRows; ++r) {
      const IndexRange range =
          range_of(tokens.positions, tokens.n_tokens,
                   keys_seen_from(*all.lane, std::int64_t{all.positions[first + r]}));
      TokenBits& seen = out.rows[r];
      for (std::size_t w = 0; w < 2; ++w) {
        const std::size_t before = 64 * w;
        const auto bits_before = [&](std::size_t n) SATCHEL_INLINE_LAMBDA {
          return n > before ? first_bits_of_word(n - before) : std::uint64_t{0};
        };
        seen.words[w] = bits_before(range.end) & ~bits_before(range.begin);
        if (tokens.live != nullptr) seen.words[w] &= tokens.live[w];
      }
      if (range.begin >= range.end) continue;
      out.begin = range.begin < out.begin ? range.begin : out.begin;
      out.end = range.end > out.end ? range.end : out.end;
    }
  }

  // The offset moves up to the largest of `top`.
  static void raise(Float top, float& offset, float* totals) {
    const float now = V::largest(top);
    const float shrink = offset == -__builtin_inff() ? 0.0f : __builtin_expf(offset - now);
    V::store(totals, V::mul(V::load_float(totals), V::broadcast_float(shrink)));
    offset = now;
  }

  // Adds a row's logits to its sums. kWhole: it sees all of a full tile, else `seen` of `range`.
  template <bool kWhole>
  SATCHEL_INLINE void add(const float* logits, const TokenBits& seen, IndexRange range,
                          float& offset, float* totals) {
    const auto pick = [&](std::size_t t, Float a, Float b) SATCHEL_INLINE_LAMBDA {
      return kWhole ? a : Softmax<V>::pick_seen(Softmax<V>::bits_at(seen, t), a, b);
    };
    const std::size_t begin = kWhole ? 0 : range.begin, end = kWhole ? kTileTokens : range.end;
    const Float none = V::broadcast_float(-__builtin_inff());
    Float top = none;
    for (std::size_t t = begin; t < end; t += V::kFloats)
      top = V::max(top, pick(t, V::load_float(logits + t), none));
    if (V::above(top, V::broadcast_float(offset + kSlack)) != 0) raise(top, offset, totals);
    const Float by = V::broadcast_float(offset);
    Float added = V::load_float(totals);
    for (std::size_t t = begin; t < end; t += V::kFloats) {
      const Float p = VectorOps<V>::exp(V::sub(V::load_float(logits + t), by));
      added = V::add(added, pick(t, p, V::zero_float()));
    }
    V::store(totals, added);
  }

  template <std::size_t kRows>
  SATCHEL_INLINE void rows(const LogSumExpRows& all, std::size_t first, const KeyTile& tile) {
    Seen<kRows> seen;
    find<kRows>(all, first, tile.tokens, seen);
    if (seen.end == 0) return;
    const std::size_t d = all.lane->head_dim;
    alignas(64) float logits[kRows][kTileTokens];
    TileProduct<V>::template logits<kRows>(all.q + first * d, d, tile, seen.begin, seen.end,
                                           logits);
    const IndexRange range{seen.begin - seen.begin % V::kFloats, seen.end};
    for (std::size_t r = 0; r < kRows; ++r) {
      const TokenBits& bits = seen.rows[r];
      if ((bits.words[0] | bits.words[1]) == 0) continue;
      if (all.lane->soft_cap != 0)
        Softmax<V>::adjust(logits[r] + range.begin, range.end - range.begin, all.lane->soft_cap,
                           nullptr);
      float& offset = all.offset[first + r];
      float* totals = all.totals + (first + r) * kLogSumExpWidth;
      if (is_whole(bits))
        add<true>(logits[r], bits, range, offset, totals);
      else
        add<false>(logits[r], bits, range, offset, totals);
    }
  }

  static void tile(const LogSumExpRows& all, const KeyTile& keys) {
    for_row_tiles<V>(
        all.n_rows, [&](auto n, std::size_t first)
                        __attribute__((always_inline)) { rows<n.value>(all, first, keys); });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
