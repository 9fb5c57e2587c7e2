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

}  // namespace

void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                 const float (&c)[4]) {
  Product slot{d, a, b, c};
  meet(~0u, multiply, &slot);
}

}  // namespace simt
