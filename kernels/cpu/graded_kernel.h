// Few query rows on graded keys (contract/graded.h), by integers straight on the codes.
//   logit = Σ (q·s)·code + q·z: q is folded with the page's scales to 16 bits with one fp32 factor, times
//   the weight of each part of a code, so that parts of a code add up and none is put together; the dot
//   product is exact in int32
//   a register is neighbouring tokens: no sums across lanes, and channels may have any number of bits
//   pages  with room for 128 tokens; for others, and for many rows, keys() unpacks
//   error  about 1e-5 of the largest folded value times its code, as attend_packed_kernel.h
#pragma once

#include "kernels/contract/graded.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/packed_dot_kernel.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// At most four rows at a time: each number of rows is an instance that takes its time to compile.
template <class V, std::size_t kRows>
struct GradedProduct {
  static_assert(kRows <= 4);
  using Int = typename V::Int;
  using Float = typename V::Float;
  // Registers of sums at a time: of 16 (AVX2) or 32 registers there are, with what is multiplied.
  static constexpr std::size_t kBlocks = V::kLanes == 16 || kRows <= 2 ? 4 : 2;
  static constexpr std::size_t kPasses = kTileTokens / V::kLanes / kBlocks;

  struct Folding {
    alignas(64) std::int16_t codes[kGradedParts][kRows][kHeadDimMax];
    alignas(64) float factor[kDotRows], offset[kDotRows];
  };

  // out[r][t] = row r of q [kRows, head_dim] with token t, for a full page.
  [[gnu::noinline]] static void run(const float* q, const GradedPlanes& planes,
                                    std::size_t head_dim, PackedPrefetch& prefetch, float* out,
                                    std::size_t out_stride) {
    Folding folding;
    fold_all(q, planes, head_dim, folding);
    unroll<0, kPasses>([&](auto pass) __attribute__((always_inline)) {
      run_pass<pass.value>(planes, head_dim, folding, prefetch, out, out_stride);
    });
  }

 private:
  SATCHEL_INLINE void fold_all(const float* q, const GradedPlanes& planes, std::size_t head_dim,
                               Folding& out) {
    const PartWeights& weights = *planes.weights;
    alignas(64) float folded[kRows][kHeadDimMax];
    Float most[kDotRows], offset[kDotRows];
    for (std::size_t r = 0; r < kDotRows; ++r) most[r] = offset[r] = V::zero_float();
    for (std::size_t c = 0; c < head_dim; c += V::kLanes) {
      const Float scales = V::load_half(planes.scales + c * sizeof(Half));
      const Float zeros = V::load_half(planes.zeros + c * sizeof(Half));
      const Float first = V::load_float(weights.of[0] + c);
      unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
        const Float x = V::load_float(q + r.value * head_dim + c), value = V::mul(x, scales);
        V::store(folded[r.value] + c, value);
        most[r.value] = V::max(most[r.value], V::magnitude(V::mul(value, first)));
        offset[r.value] = V::fma(x, zeros, offset[r.value]);
      });
    }
    alignas(64) float units[kDotRows];
    V::units_of_registers(most, units, out.factor);
    V::sum_registers(offset, out.offset);
    for (std::size_t part = 0; part < weights.n_parts; ++part)
      for (std::size_t c = 0; c < head_dim; c += 16)
        unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
          fold_part(folded[r.value] + c, weights.of[part] + c, units[r.value],
                    out.codes[part][r.value] + c);
        });
  }

  // 16 channels.
  SATCHEL_INLINE void fold_part(const float* folded, const float* weights, float units,
                                std::int16_t* codes) {
    Int rounded[16 / V::kLanes];
    unroll<0, 16 / V::kLanes>([&](auto i) __attribute__((always_inline)) {
      const Float weighted = V::mul(V::load_float(folded + i.value * V::kLanes),
                                    V::load_float(weights + i.value * V::kLanes));
      rounded[i.value] = V::round_to_int(V::mul(weighted, V::broadcast_float(units)));
    });
    V::store_words(codes, rounded);
  }

  using Sums = Int[kRows][kBlocks];

  template <std::size_t kPass>
  SATCHEL_INLINE void run_pass(const GradedPlanes& planes, std::size_t head_dim,
                               const Folding& folding, PackedPrefetch& prefetch, float* out,
                               std::size_t out_stride) {
    Sums sums;
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      unroll<0, kBlocks>([&](auto b) __attribute__((always_inline)) {
        sums[r.value][b.value] = V::zero();
      });
    });
    const std::byte* codes = planes.codes;
    for (std::size_t quad = 0; quad < head_dim / kQuad; ++quad) {
      if (quad % (2 * kPasses) == 0) prefetch.step();
      unsigned left = planes.quad_bits[quad];
      for (std::size_t part = 0; left > 0; ++part) {
        const unsigned bits = part_bits(left);
        left -= bits;
        const std::int16_t* at = folding.codes[part][0] + quad * kQuad;
        if (bits == 4)
          add_part<4, kPass>(codes, at, sums);
        else if (bits == 2)
          add_part<2, kPass>(codes, at, sums);
        else
          add_part<1, kPass>(codes, at, sums);
        codes += part_bytes(kTileTokens, bits);
      }
    }
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      const Float factor = V::broadcast_float(folding.factor[r.value]);
      const Float offset = V::broadcast_float(folding.offset[r.value]);
      unroll<0, kBlocks>([&](auto b) __attribute__((always_inline)) {
        V::store(out + r.value * out_stride + (kPass * kBlocks + b.value) * V::kLanes,
                 V::fma(V::to_float(sums[r.value][b.value]), factor, offset));
      });
    });
  }

  // One part of a quad: kBits bits of four channels of the pass's tokens.
  template <std::size_t kBits, std::size_t kPass>
  SATCHEL_INLINE void add_part(const std::byte* codes, const std::int16_t* folded, Sums& sums) {
    constexpr std::size_t kRegisters = kTileTokens * kBits / 8 / V::kLanes;  // of words
    const Int mask = V::words((1 << kBits) - 1);
    Int near[kBlocks], far[kBlocks];  // codes of the first two channels, of the last two
    unroll<0, kBlocks>([&](auto b) __attribute__((always_inline)) {
      constexpr std::size_t block = kPass * kBlocks + b.value;
      constexpr int shift = static_cast<int>(block / kRegisters * kBits);
      const Int words = V::load(codes + block % kRegisters * sizeof(Int));
      near[b.value] = V::and_(V::template shift_right<shift>(words), mask);
      far[b.value] = V::and_(V::template shift_right<8 + shift>(words), mask);
    });
    // A row's words as they are needed: with the sums they would not fit into 16 registers.
    unroll<0, kRows>([&](auto r) __attribute__((always_inline)) {
      const std::int16_t* at = folded + r.value * kHeadDimMax;
      const Int first = V::broadcast_pair(at), last = V::broadcast_pair(at + 2);
      unroll<0, kBlocks>([&](auto b) __attribute__((always_inline)) {
        Int& sum = sums[r.value][b.value];
        sum = V::dot(V::dot(sum, near[b.value], first), far[b.value], last);
      });
    });
  }
};

template <class V>
struct GradedFill {
  using Float = typename V::Float;

  // tile_k [head_dim, kTileTokens]: code · scale + zero in two roundings, as decode_pages gives it
  // before it turns keys back.
  static void keys(const GradedPlanes& planes, std::size_t capacity, std::size_t head_dim,
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
  // Small whole numbers: their sums are exact.
  SATCHEL_INLINE void add_part(const std::byte* codes, std::size_t capacity, unsigned bits,
                               float weight, float* to) {
    const std::size_t n_words = capacity * bits / 8;
    const unsigned mask = (1u << bits) - 1;
    for (std::size_t c = 0; c < kQuad; ++c) {
      float* const row = to + c * kTileTokens;
      if (n_words % V::kLanes != 0) {
        for (std::size_t t = 0; t < capacity; ++t) {
          const PartPlace at = part_place(capacity, bits, t, c);
          row[t] += weight *
                    static_cast<float>((static_cast<unsigned>(codes[at.byte]) >> at.shift) & mask);
        }
        continue;
      }
      const PartPlace first = part_place(capacity, bits, 0, c);
      for (std::size_t t = 0; t < capacity; t += V::kLanes) {
        const auto shift = static_cast<unsigned>(8 * first.byte + t / n_words * bits);
        const auto field = V::field(V::load(codes + t % n_words * 4), shift, mask);
        V::store(row + t,
                 V::fma(V::to_float(field), V::broadcast_float(weight), V::load_float(row + t)));
      }
    }
  }
  SATCHEL_INLINE void apply(float scale, float zero, std::size_t capacity, float* row) {
    for (std::size_t t = 0; t < capacity; t += V::kLanes)
      V::store(row + t, V::add(V::mul(V::load_float(row + t), V::broadcast_float(scale)),
                               V::broadcast_float(zero)));
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
