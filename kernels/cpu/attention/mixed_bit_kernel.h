// Decode attention on mixed-bit keys (contract/mixed_bit.h), with integer arithmetic directly on
// the codes.
//   logit = Σ (q·s)·code + q·z: q is multiplied by the page's scales and by the weight of each part
//   of a code, and rounded to 16 bits with one fp32 factor. So parts add up without assembling
//   codes. The dot product is exact in int32.
//   a register holds neighbouring tokens: no horizontal sums, and channels can have any width
//   short pages  have parts of fewer words than a register: these are repeated, and each is
//          shifted to its token's code
//   error  about 1e-5 of the largest folded value times its code, as attend_codes_kernel.h
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/contract/mixed_bit.h"
#include "kernels/cpu/attention/code_dot_kernel.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Where the codes of neighbouring tokens from kToken on lie in their words.
template <std::size_t kTokens, std::size_t kWords, std::size_t kBits, std::size_t kToken>
struct FieldShifts {
  alignas(64) std::uint32_t bits[kTokens] = {};
  constexpr FieldShifts() {
    for (std::size_t i = 0; i < kTokens; ++i)
      bits[i] = static_cast<std::uint32_t>((kToken + i) / kWords * kBits);
  }
};

// At most four rows at a time: each number of rows is an instance that takes its time to compile.
template <class V, std::size_t kRows, std::size_t kCapacity>
struct MixedBitProduct {
  static_assert(kRows <= 4);
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr std::size_t kAllBlocks = kCapacity / V::kFloats;  // registers of tokens
  // As many at a time as fit into registers, with their sums, and divide all of them.
  static constexpr std::size_t kBlocks = [] {
    std::size_t n = std::min({V::kFourSums / kRows, V::kFloats / 2, kAllBlocks});
    while (kAllBlocks % n != 0) --n;
    return n;
  }();
  static constexpr std::size_t kPasses = kAllBlocks / kBlocks;

  struct Folding {
    alignas(64) std::int16_t values[kMixedBitParts][kRows][kHeadDimMax];
    alignas(64) float factor[kDotRows], offset[kDotRows];
  };

  // out[r][t] = row r of q [kRows, head_dim] with token t, for all kCapacity of them.
  [[gnu::noinline]] static void run(const float* q, const MixedBitPlanes& planes,
                                    std::size_t head_dim, CodePrefetch& prefetch, float* out,
                                    std::size_t out_stride) {
    Folding folding;
    fold_all(q, planes, head_dim, folding);
    unroll<0, kPasses>([&](auto pass) __attribute__((always_inline)) {
      run_pass<pass.value>(planes, folding, prefetch, out, out_stride);
    });
  }

 private:
  SATCHEL_INLINE void fold_all(const float* q, const MixedBitPlanes& planes, std::size_t head_dim,
                               Folding& out) {
    const KeyParts& parts = *planes.parts;
    alignas(64) float folded[kRows][kHeadDimMax];
    Float most[kFewRegisters], offset[kFewRegisters];
    unroll<0, kFewRegisters>([&](auto r) __attribute__((always_inline)) {
      most[r.value] = offset[r.value] = V::zero_float();
    });
    for (std::size_t c = 0; c < head_dim; c += V::kFloats) {
      const Float scales = V::load_half(planes.scales + c * sizeof(Half));
      const Float zeros = V::load_half(planes.zeros + c * sizeof(Half));
      const Float first = V::load_float(parts.weights[0] + c);
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
        const Float x = V::load_float(q + r.value * head_dim + c), value = V::mul(x, scales);
        V::store(folded[r.value] + c, value);
        most[r.value] = V::max(most[r.value], V::magnitude(V::mul(value, first)));
        offset[r.value] = V::fma(x, zeros, offset[r.value]);
      });
    }
    alignas(64) float units[kDotRows];
    V::template units_of_registers<kFewRegisters>(most, units, out.factor);
    V::template sum_registers<kFewRegisters>(offset, out.offset);
    for (std::size_t part = 0; part < parts.n_parts; ++part)
      for (std::size_t c = 0; c < head_dim; c += 16)
        unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
          fold_part(folded[r.value] + c, parts.weights[part] + c, units[r.value],
                    out.values[part][r.value] + c);
        });
  }

  // 16 channels.
  SATCHEL_INLINE void fold_part(const float* folded, const float* weights, float units,
                                std::int16_t* values) {
    Int rounded[16 / V::kFloats];
    unroll<0, 16 / V::kFloats>([&](auto i) __attribute__((always_inline)) {
      const Float weighted = V::mul(V::load_float(folded + i.value * V::kFloats),
                                    V::load_float(weights + i.value * V::kFloats));
      rounded[i.value] = V::round_to_int(V::mul(weighted, V::broadcast_float(units)));
    });
    V::store_fours(values, rounded);
  }

  using Sums = typename V::FourSums[kRows][kBlocks];

  template <std::size_t kPass>
  SATCHEL_INLINE void run_pass(const MixedBitPlanes& planes, const Folding& folding,
                               CodePrefetch& prefetch, float* out, std::size_t out_stride) {
    Sums sums;
    unroll_both<kRows, kBlocks>([&](auto r, auto b) SATCHEL_INLINE_LAMBDA {
      sums[r.value][b.value] = V::FourSums::none();
    });
    add_parts<4, kPass>(planes, folding, prefetch, sums);
    add_parts<2, kPass>(planes, folding, prefetch, sums);
    add_parts<1, kPass>(planes, folding, prefetch, sums);
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      const Float factor = V::broadcast_float(folding.factor[r.value]);
      const Float offset = V::broadcast_float(folding.offset[r.value]);
      unroll<0, kBlocks>([&](auto b) __attribute__((always_inline)) {
        V::store(out + r.value * out_stride + (kPass + b.value * kPasses) * V::kFloats,
                 V::fma(V::to_float(V::total(sums[r.value][b.value])), factor, offset));
      });
    });
  }

  // Parts of kBits bits, of the pass's tokens: blocks that lie apart, as these share their words.
  template <std::size_t kBits, std::size_t kPass>
  SATCHEL_INLINE void add_parts(const MixedBitPlanes& planes, const Folding& folding,
                                CodePrefetch& prefetch, Sums& sums) {
    constexpr std::size_t kKind = kBits == 4 ? 0 : kBits == 2 ? 1 : 2;
    const std::size_t n = planes.parts->n_of_bits[kKind];
    for (std::size_t i = 0; i < n; ++i) {
      if (i % (2 * kPasses) == kPass) prefetch.step();
      const QuadPart part = planes.parts->of_bits[kKind][i];
      const std::byte* const codes = planes.codes + part.at * part_bytes(kCapacity, 1);
      typename V::Four fours[kBlocks];
      unroll<0, kBlocks>([&](auto b) __attribute__((always_inline)) {
        constexpr std::size_t block = kPass + b.value * kPasses;
        fours[b.value] = codes_of_block<kBits, block>(codes);
      });
      // A row's words as they are needed: with the sums they would not fit into 16 registers.
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
        const std::int16_t* at = folding.values[part.part][r.value] + part.quad * kQuad;
        const Int first = V::broadcast_pair(at), second = V::broadcast_pair(at + 2);
        unroll<0, kBlocks>([&](auto b) __attribute__((always_inline)) {
          V::add_four(sums[r.value][b.value], fours[b.value], first, second);
        });
      });
    }
  }

  // Token t is in word t % kWords of a part: where a register of tokens comes to the last word, it
  // goes on with the first one's next bits.
  template <std::size_t kBits, std::size_t kBlock>
  SATCHEL_INLINE typename V::Four codes_of_block(const std::byte* codes) {
    constexpr std::size_t kWords = kCapacity * kBits / 8, kToken = kBlock * V::kFloats;
    constexpr std::size_t kFirst = kToken % kWords;
    if constexpr (kFirst + V::kFloats <= kWords) {
      const Int words = V::load(codes + kFirst * sizeof(std::uint32_t));
      return V::template four<kBits, kToken / kWords * kBits>(words);
    } else {
      static constexpr FieldShifts<V::kFloats, kWords, kBits, kToken> kShifts;
      const Int words = V::template load_around<kWords, kFirst>(codes);
      return V::template four<kBits, 0>(V::shift_right_each(words, V::load(kShifts.bits)));
    }
  }
};

template <class V>
struct MixedBitFill {
  using Float = typename V::Float;

  // tile_k [head_dim, kTileTokens]: code · scale + zero in two roundings, as decode_pages gives it
  // before it transforms keys back.
  static void keys(const MixedBitPlanes& planes, std::size_t capacity, std::size_t head_dim,
                   float* tile_k) {
    const std::byte* codes = planes.codes;
    for (std::size_t quad = 0; quad < head_dim / kQuad; ++quad) {
      float* const to = tile_k + quad * kQuad * kTileTokens;
      for (std::size_t c = 0; c < kQuad; ++c)
        __builtin_memset(to + c * kTileTokens, 0, capacity * sizeof(float));
      for (unsigned left = planes.quad_bits[quad]; left > 0;) {
        const unsigned bits = part_bits(left);
        left -= bits;
        add_part(codes, capacity, bits, static_cast<float>(1u << left), to);
        codes += part_bytes(capacity, bits);
      }
      const auto* scales = reinterpret_cast<const Half*>(planes.scales) + quad * kQuad;
      const auto* zeros = reinterpret_cast<const Half*>(planes.zeros) + quad * kQuad;
      for (std::size_t c = 0; c < kQuad; ++c)
        apply(_cvtsh_ss(scales[c]), _cvtsh_ss(zeros[c]), capacity, to + c * kTileTokens);
    }
  }

 private:
  // Small whole numbers: their sums are exact. A part has a multiple of four words.
  SATCHEL_INLINE void add_part(const std::byte* codes, std::size_t capacity, unsigned bits,
                               float weight, float* to) {
    const std::size_t n_words = capacity * bits / 8;
    for (std::size_t c = 0; c < kQuad; ++c) {
      float* row = to + c * kTileTokens;
      auto shift = static_cast<unsigned>(8 * part_place(capacity, bits, 0, c).byte);
      for (std::size_t t = 0; t < capacity; t += n_words, shift += bits, row += n_words) {
        std::size_t w = 0;
        for (; w + V::kFloats <= n_words; w += V::kFloats)
          add_fields(codes + w * 4, shift, bits, weight, row + w);
        for (; w < n_words; w += 4) add_four_fields(codes + w * 4, shift, bits, weight, row + w);
      }
    }
  }
  SATCHEL_INLINE void add_fields(const std::byte* words, unsigned shift, unsigned bits,
                                 float weight, float* to) {
    const auto fields = V::field(V::load(words), shift, (1u << bits) - 1);
    V::store(to, V::fma(V::to_float(fields), V::broadcast_float(weight), V::load_float(to)));
  }
  SATCHEL_INLINE void add_four_fields(const std::byte* words, unsigned shift, unsigned bits,
                                      float weight, float* to) {
    const __m128i four = _mm_srl_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)),
                                       _mm_cvtsi32_si128(static_cast<int>(shift)));
    const __m128i fields = _mm_and_si128(four, _mm_set1_epi32((1 << bits) - 1));
    _mm_storeu_ps(to, _mm_fmadd_ps(_mm_cvtepi32_ps(fields), _mm_set1_ps(weight), _mm_loadu_ps(to)));
  }
  SATCHEL_INLINE void apply(float scale, float zero, std::size_t capacity, float* row) {
    for (std::size_t t = 0; t < capacity; t += V::kFloats)
      V::store(row + t, V::add(V::mul(V::load_float(row + t), V::broadcast_float(scale)),
                               V::broadcast_float(zero)));
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
