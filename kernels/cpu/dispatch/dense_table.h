// Products of small fp32 matrices of each instruction level (called by refit.cpp).
#pragma once

#include <cstddef>

namespace satchel::kernels::cpu {

// c += factor · a · b, rows of a, b and c their strides apart. On the calling thread; an element of
// c is the same however m and n are cut.
struct DenseJob {
  const float* a = nullptr;  // [m, k]
  std::size_t a_stride = 0;
  const float* b = nullptr;  // [k, n]; [n, k] if it is transposed
  std::size_t b_stride = 0;
  bool b_transposed = false;
  float* c = nullptr;  // [m, n]
  std::size_t c_stride = 0;
  std::size_t m = 0, n = 0, k = 0;
  float factor = 1;
};

void dense_avx2(const DenseJob& job);
void dense_avx512(const DenseJob& job);

}  // namespace satchel::kernels::cpu
