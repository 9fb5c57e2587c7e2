// Octets of the IQ types in registers: a value's field is shifted into its element and looked up.
#include <immintrin.h>

#include <utility>

#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/products/dequant_rows.h"
#include "kernels/reference/grid_blocks.h"

namespace satchel::kernels::cpu {
namespace {

struct Avx2Ops {
  SATCHEL_INLINE float half(const std::byte* at) {
    std::uint16_t bits;
    __builtin_memcpy(&bits, at, sizeof bits);
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
  }

  // Element i: the table at kBits bits from bit i * kBits on.
  template <int kBits>
  SATCHEL_INLINE __m256 fields(std::uint32_t entry, __m256 table) {
    const __m256i places =
        _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(kBits));
    const __m256i index = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(entry)), places);
    return _mm256_permutevar8x32_ps(table,
                                    _mm256_and_si256(index, _mm256_set1_epi32(kBits == 2 ? 3 : 7)));
  }
  SATCHEL_INLINE __m256 negate(__m256 values, unsigned signs) {
    const __m256i bits = _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(signs)),
                                           _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
    return _mm256_xor_ps(values, _mm256_and_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(-0.0f)));
  }

  SATCHEL_INLINE void iq1(unsigned entry, float shift, float scale, float* out) {
    const __m256 field = fields<2>(entry, _mm256_setr_ps(-1, 0, 1, 2, 0, 0, 0, 0));
    const __m256 shifted = _mm256_add_ps(field, _mm256_set1_ps(shift));
    _mm256_storeu_ps(out, _mm256_mul_ps(_mm256_set1_ps(scale), shifted));
  }
  template <int kBits>
  SATCHEL_INLINE void octet(std::uint32_t entry, __m256 table, unsigned signs, float scale,
                            float* out) {
    const __m256 value = _mm256_mul_ps(_mm256_set1_ps(scale), fields<kBits>(entry, table));
    _mm256_storeu_ps(out, negate(value, signs));
  }
  SATCHEL_INLINE void iq2(unsigned entry, unsigned signs, float scale, float* out) {
    octet<2>(entry, _mm256_setr_ps(8, 25, 43, 0, 0, 0, 0, 0), signs, scale, out);
  }
  SATCHEL_INLINE void iq3_xxs(std::uint32_t entries, unsigned signs, float scale, float* out) {
    octet<4>(entries, _mm256_setr_ps(4, 12, 20, 28, 36, 44, 52, 62), signs, scale, out);
  }
  SATCHEL_INLINE void iq3_s(std::uint32_t entries, unsigned signs, float scale, float* out) {
    octet<4>(entries, _mm256_setr_ps(1, 3, 5, 7, 9, 11, 13, 15), signs, scale, out);
  }
};
using Blocks = GridBlocks<Avx2Ops>;

constexpr std::pair<WeightType, PlainBlock> kBlocks[] = {
    {WeightType::iq1_s, Blocks::iq1_s},     {WeightType::iq1_m, Blocks::iq1_m},
    {WeightType::iq2_xxs, Blocks::iq2_xxs}, {WeightType::iq2_xs, Blocks::iq2_xs},
    {WeightType::iq2_s, Blocks::iq2_s},     {WeightType::iq3_xxs, Blocks::iq3_xxs},
    {WeightType::iq3_s, Blocks::iq3_s},
};

}  // namespace

PlainBlock plain_block_avx2(WeightType type) {
  for (const auto& row : kBlocks)  // no std::get: this unit must export nothing else
    if (row.first == type) return row.second;
  return nullptr;
}

}  // namespace satchel::kernels::cpu
