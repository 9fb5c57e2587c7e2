#include "simt/fragments.h"

#include <array>

#include "simt/block.h"

namespace simt {
namespace {

using Slots = std::array<Slot, kWarpLanes>;
constexpr unsigned kDeep = 16;

float half_at(std::uint32_t pair, unsigned i) {
  return static_cast<float>(
      __builtin_bit_cast(_Float16, static_cast<std::uint16_t>(pair >> (16 * i))));
}

struct Product {
  float* d;
  const std::uint32_t *a, *b;
  const float* c;
};

void multiply(const Slots& slots, std::uint32_t) {
  float a[16][kDeep], b[kDeep][8];
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto& of = *static_cast<const Product*>(slots[lane]);
    const unsigned group = lane / 4, in_group = lane % 4;
    for (unsigned r = 0; r < kDeep / 4; ++r)  // rows alternate, then columns go on by 8
      for (unsigned i = 0; i < 2; ++i)
        a[group + 8 * (r % 2)][2 * in_group + i + 8 * (r / 2)] = half_at(of.a[r], i);
    for (unsigned r = 0; r < kDeep / 8; ++r)
      for (unsigned i = 0; i < 2; ++i) b[2 * in_group + i + 8 * r][group] = half_at(of.b[r], i);
  }
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto& of = *static_cast<const Product*>(slots[lane]);
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      double sum = of.c[i];
      for (unsigned k = 0; k < kDeep; ++k) sum += static_cast<double>(a[row][k]) * b[k][column];
      of.d[i] = static_cast<float>(sum);
    }
  }
}

struct ByteProduct {
  int* d;
  const std::uint32_t *a, *b;
};

// kHalves: of 16 values each.
template <unsigned kHalves>
void multiply_bytes(const Slots& slots, std::uint32_t) {
  std::int16_t a[16][16 * kHalves], b[8][16 * kHalves];
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto& of = *static_cast<const ByteProduct*>(slots[lane]);
    const unsigned group = lane / 4, in_group = lane % 4;
    for (unsigned half = 0; half < kHalves; ++half)
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned k = 16 * half + 4 * in_group + i;
        a[group][k] = static_cast<std::uint8_t>(of.a[2 * half] >> 8 * i);
        a[group + 8][k] = static_cast<std::uint8_t>(of.a[2 * half + 1] >> 8 * i);
        b[group][k] = static_cast<std::int8_t>(of.b[half] >> 8 * i);
      }
  }
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto& of = *static_cast<const ByteProduct*>(slots[lane]);
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      int sum = 0;
      for (unsigned k = 0; k < 16 * kHalves; ++k) sum += a[row][k] * b[column][k];
      of.d[i] += sum;
    }
  }
}

}  // namespace

void mma_bytes_16x8x32(int (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  ByteProduct slot{d, a, b};
  meet(~0u, multiply_bytes<2>, &slot);
}
void mma_bytes_16x8x16(int (&d)[4], std::uint32_t a_above, std::uint32_t a_below, std::uint32_t b) {
  const std::uint32_t a[2] = {a_above, a_below};
  ByteProduct slot{d, a, &b};
  meet(~0u, multiply_bytes<1>, &slot);
}

void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                 const float (&c)[4]) {
  Product slot{d, a, b, c};
  meet(~0u, multiply, &slot);
}

}  // namespace simt
