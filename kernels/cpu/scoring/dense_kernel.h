// The product of two fp32 matrices: a panel of b, two registers wide, is packed into L1 and meets
// all rows of a.
#pragma once

#include "kernels/cpu/attention/attend_tile_kernel.h"
#include "kernels/cpu/dispatch/dense_table.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct DenseKernel {
  static constexpr std::size_t kWidth = 2 * V::kFloats, kDepth = 256;

  // Columns [column, column + n) and rows [row, row + k) of b; what is missing becomes 0.
  static void pack(const DenseJob& job, std::size_t column, std::size_t n, std::size_t row,
                   std::size_t k, float* panel) {
    if (n < kWidth) __builtin_memset(panel, 0, k * kWidth * sizeof(float));
    if (job.b_transposed) {
      const float* from = job.b + column * job.b_stride + row;
      for (std::size_t i = 0; i < n; ++i, from += job.b_stride)
        for (std::size_t r = 0; r < k; ++r) panel[r * kWidth + i] = job.factor * from[r];
    } else {
      const float* from = job.b + row * job.b_stride + column;
      for (std::size_t r = 0; r < k; ++r, from += job.b_stride)
        for (std::size_t i = 0; i < n; ++i) panel[r * kWidth + i] = job.factor * from[i];
    }
  }

  static void run(const DenseJob& job) {
    alignas(64) float panel[kDepth * kWidth];
    float keep[V::kRowTile];
    for (float& each : keep) each = 1;
    for (std::size_t column = 0; column < job.n; column += kWidth)
      for (std::size_t row = 0; row < job.k; row += kDepth) {
        const std::size_t n = job.n - column < kWidth ? job.n - column : kWidth;
        const std::size_t k = job.k - row < kDepth ? job.k - row : kDepth;
        pack(job, column, n, row, k, panel);
        for_row_tiles<V>(job.m, [&](auto rows, std::size_t first) SATCHEL_INLINE_LAMBDA {
          const float* a = job.a + first * job.a_stride + row;
          float* c = job.c + first * job.c_stride + column;
          if (n == kWidth) {
            TileProduct<V>::template run<rows.value, 2>(a, job.a_stride, k, panel, kWidth, keep, c,
                                                        job.c_stride);
            return;
          }
          float whole[rows.value * kWidth] = {};
          for (std::size_t r = 0; r < rows.value; ++r)
            __builtin_memcpy(whole + r * kWidth, c + r * job.c_stride, n * sizeof(float));
          TileProduct<V>::template run<rows.value, 2>(a, job.a_stride, k, panel, kWidth, keep,
                                                      whole, kWidth);
          for (std::size_t r = 0; r < rows.value; ++r)
            __builtin_memcpy(c + r * job.c_stride, whole + r * kWidth, n * sizeof(float));
        });
      }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
