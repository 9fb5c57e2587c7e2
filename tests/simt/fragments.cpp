#include "simt/fragments.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "simt/block.h"
#include "simt/findings.h"
#include "simt/memory.h"
#include "simt/runtime_api.h"
#include "simt/traffic.h"

namespace simt {
namespace {

using Slots = std::array<Slot, kWarpLanes>;
constexpr unsigned kRows = 16, kDeep = 16, kColumns = 8;

// Of zero, and of what is infinite or not a number: beyond those of any product.
constexpr std::int16_t kOfZero = -1000, kOfSpecial = 4000;
constexpr std::int16_t kLeastOfProduct = -28, kLeastOfSpecial = 2000;

// The exponent of a number's leading bit, of subnormal numbers the least.
std::int16_t exponent_of(std::uint32_t bits, unsigned fraction_bits, unsigned field_bits) {
  const std::uint32_t all = (1u << field_bits) - 1, field = bits >> fraction_bits & all;
  if (field == all) return kOfSpecial;
  if ((bits & ((1u << (fraction_bits + field_bits)) - 1)) == 0) return kOfZero;
  return static_cast<std::int16_t>(std::max(static_cast<int>(field), 1) -
                                   static_cast<int>(all / 2));
}

struct Factor {
  float value;
  std::int16_t exponent;
};
Factor half_at(std::uint32_t pair, unsigned i) {
  const auto bits = static_cast<std::uint16_t>(pair >> (16 * i));
  return {__half2float({bits}), exponent_of(bits, 10, 5)};
}

struct Product {
  float* d;
  const std::uint32_t *a, *b;
  const float* c;
};
struct Operands {
  float a[kRows][kDeep], b[kDeep][kColumns], sums[kRows][kColumns];
  std::int16_t a_exponent[kRows][kDeep], b_exponent[kDeep][kColumns];
};

void gather(const Slots& slots, Operands& out) {
  const auto put = [](const Factor& from, float& value, std::int16_t& exponent) {
    value = from.value;
    exponent = from.exponent;
  };
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto& of = *static_cast<const Product*>(slots[lane]);
    const unsigned group = lane / 4, in_group = lane % 4;
    for (unsigned r = 0; r < kDeep / 4; ++r)  // rows alternate, then columns go on by 8
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = group + 8 * (r % 2), k = 2 * in_group + i + 8 * (r / 2);
        put(half_at(of.a[r], i), out.a[row][k], out.a_exponent[row][k]);
      }
    for (unsigned r = 0; r < kDeep / 8; ++r)
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned k = 2 * in_group + i + 8 * r;
        put(half_at(of.b[r], i), out.b[k][group], out.b_exponent[k][group]);
      }
    for (unsigned i = 0; i < 4; ++i) out.sums[group + 8 * (i / 2)][2 * in_group + i % 2] = of.c[i];
  }
}

float power_of_two(int exponent) {  // of a normal number
  return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
}

// Without rounding, toward zero.
float cut_to_float(double x) {
  constexpr std::uint64_t kBehindFloat = (std::uint64_t{1} << 29) - 1;
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~kBehindFloat));
}

float sum_in_fp64(const Operands& of, unsigned row, unsigned column, unsigned first, unsigned n) {
  double sum = of.sums[row][column];
  for (unsigned k = first; k < first + n; ++k)
    sum += static_cast<double>(of.a[row][k]) * of.b[k][column];
  return static_cast<float>(sum);
}

// What a row's sums have in common, by columns: the loops over these are what a test's time goes
// to, and become vector instructions.
struct RowScales {
  std::int16_t products[kColumns], all[kColumns];  // largest exponents
  float up[kColumns];  // by how much a number becomes one of the last kept bit; 0: special
};
RowScales scales_of(const Operands& of, unsigned row, unsigned first, MatrixSums sums) {
  RowScales out;
  for (std::int16_t& exponent : out.products) exponent = 2 * kOfZero;
  for (unsigned k = first; k < first + sums.n_products; ++k)
    for (unsigned column = 0; column < kColumns; ++column)
      out.products[column] =
          std::max(out.products[column],
                   static_cast<std::int16_t>(of.a_exponent[row][k] + of.b_exponent[k][column]));
  for (unsigned column = 0; column < kColumns; ++column) {
    const auto before = std::bit_cast<std::uint32_t>(of.sums[row][column]);
    out.all[column] = std::max({out.products[column], exponent_of(before, 23, 8), kLeastOfProduct});
    const bool is_special = out.all[column] >= kLeastOfSpecial;
    out.up[column] = is_special ? 0 : power_of_two(sums.bits - out.all[column]);
  }
  return out;
}

// A row's sums of the next products.
void add_products(Operands& of, unsigned row, unsigned first, MatrixSums sums) {
  constexpr unsigned kAtOnce = 8;  // as many as int32 has room for
  const RowScales scales = scales_of(of, row, first, sums);
  const auto cut = [&](float x, unsigned column) {
    return static_cast<std::int32_t>(scales.up[column] == 0 ? 0.0f : x * scales.up[column]);
  };
  std::int64_t total[kColumns];
  for (unsigned column = 0; column < kColumns; ++column)
    total[column] = cut(of.sums[row][column], column);
  for (unsigned k = first; k < first + sums.n_products; k += kAtOnce) {
    std::int32_t part[kColumns] = {};
    for (unsigned i = k; i < k + kAtOnce; ++i)
      for (unsigned column = 0; column < kColumns; ++column)
        part[column] += cut(of.a[row][i] * of.b[i][column], column);
    for (unsigned column = 0; column < kColumns; ++column) total[column] += part[column];
  }
  for (unsigned column = 0; column < kColumns; ++column) {
    float& sum = of.sums[row][column];
    if (scales.up[column] == 0)
      sum = sum_in_fp64(of, row, column, first, sums.n_products);
    else if (scales.products[column] < kLeastOfProduct)
      sum += 0.0f;  // nothing is added
    else
      sum = cut_to_float(static_cast<double>(total[column]) / scales.up[column]);
  }
}

void multiply(const Slots& slots, std::uint32_t) {
  Operands of;
  gather(slots, of);
  const MatrixSums sums = machine().sums;
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned k = 0; k < kDeep; k += sums.n_products) add_products(of, row, k, sums);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    const auto& to = *static_cast<const Product*>(slots[lane]);
    for (unsigned i = 0; i < 4; ++i)
      to.d[i] = of.sums[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
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

struct MatrixRow {
  const std::byte* row;
  const void* code;
  WarpAddresses rows;  // of all lanes
};
void exchange_rows(const Slots& slots, std::uint32_t) {
  WarpAddresses rows;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    rows[lane] = static_cast<const MatrixRow*>(slots[lane])->row;
  for (const Slot slot : slots) static_cast<MatrixRow*>(slot)->rows = rows;
  if (is_traffic_counted) note_warp_access(static_cast<const MatrixRow*>(slots[0])->code, rows, 16);
}

template <class T>
std::uint32_t read_checked(const std::byte* at) {
  check_access(at, sizeof(T), Access::read);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

void load_matrices(const std::byte* row, bool is_transposed, std::uint32_t (&out)[4]) {
  const void* code = __builtin_return_address(0);
  MatrixRow slot{row, code, {}};
  meet(~0u, exchange_rows, &slot);
  set_place(code);
  check_access(row, 16, Access::read);
  const unsigned lane = current()->lane(), group = lane / 4, pair = lane % 4 * 2;
  for (unsigned i = 0; i < 4; ++i) {
    const std::byte* const* rows = &slot.rows[8 * i];
    if (is_transposed)
      out[i] = read_checked<std::uint16_t>(rows[pair] + 2 * group) |
               read_checked<std::uint16_t>(rows[pair + 1] + 2 * group) << 16;
    else
      out[i] = read_checked<std::uint32_t>(rows[group] + 2 * pair);
  }
  set_place(nullptr);
}

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
