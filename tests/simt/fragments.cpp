#include "simt/fragments.h"

#include <array>
#include <cstring>

#include "simt/block.h"
#include "simt/findings.h"
#include "simt/memory.h"

namespace simt {
namespace {

using Slots = std::array<Slot, kWarpLanes>;
constexpr std::uint32_t kAll = ~0u;

float half_at(std::uint32_t pair, unsigned i) {
  return static_cast<float>(
      __builtin_bit_cast(_Float16, static_cast<std::uint16_t>(pair >> (16 * i))));
}

// a: kDeep / 4 registers, b: kDeep / 8.
struct Product {
  float* d;
  const std::uint32_t *a, *b;
  const float* c;
};

template <unsigned kDeep>
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

struct Matrices {
  std::uint32_t* out;
  unsigned n;
  const std::byte* row;
  bool transposed;
};

std::uint16_t value_at(const std::byte* row, unsigned column) {
  std::uint16_t value;
  std::memcpy(&value, row + 2 * column, sizeof value);
  return value;
}

void load(const Slots& slots, std::uint32_t) {
  const auto& first = *static_cast<const Matrices*>(slots[0]);
  for (unsigned m = 0; m < first.n; ++m) {
    const auto row = [&](unsigned r) {
      return static_cast<const Matrices*>(slots[8 * m + r])->row;
    };
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const unsigned major = lane / 4, minor = 2 * (lane % 4);
      const std::uint32_t low =
          first.transposed ? value_at(row(minor), major) : value_at(row(major), minor);
      const std::uint32_t high =
          first.transposed ? value_at(row(minor + 1), major) : value_at(row(major), minor + 1);
      static_cast<const Matrices*>(slots[lane])->out[m] = low | high << 16;
    }
  }
}

struct Transposed {
  std::uint32_t value, out;
};
void transpose(const Slots& slots, std::uint32_t) {
  const auto value = [&](unsigned row, unsigned column) {
    const auto& of = *static_cast<const Transposed*>(slots[4 * row + column / 2]);
    return of.value >> (16 * (column % 2)) & 0xffffu;
  };
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const unsigned row = lane / 4, column = 2 * (lane % 4);
    static_cast<Transposed*>(slots[lane])->out = value(column, row) | value(column + 1, row) << 16;
  }
}

}  // namespace

void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                 const float (&c)[4]) {
  Product slot{d, a, b, c};
  meet(kAll, multiply<16>, &slot);
}

void mma_16x8x8(float (&d)[4], const std::uint32_t (&a)[2], std::uint32_t b, const float (&c)[4]) {
  Product slot{d, a, &b, c};
  meet(kAll, multiply<8>, &slot);
}

void load_matrices(std::uint32_t* out, unsigned n, const void* row, bool transposed) {
  if (current()->lane() < 8 * n) check_access(row, 16, Access::read);
  Matrices slot{out, n, static_cast<const std::byte*>(row), transposed};
  meet(kAll, load, &slot);
}

std::uint32_t transpose_matrix(std::uint32_t value) {
  Transposed slot{value, 0};
  meet(kAll, transpose, &slot);
  return slot.out;
}

}  // namespace simt
