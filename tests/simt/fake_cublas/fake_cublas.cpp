#include "simt/fake_cublas/fake_cublas.h"

#include <cstdint>

extern "C" {

FakeCublas the_fake_cublas;

namespace {

int status() {
  return the_fake_cublas.calls_until_failure >= 0 && the_fake_cublas.calls_until_failure-- == 0
             ? the_fake_cublas.failure
             : 0;
}

float half_at(const void* from, std::size_t i) {
  return static_cast<float>(
      __builtin_bit_cast(_Float16, static_cast<const std::uint16_t*>(from)[i]));
}

struct Product {
  int m, n, k;
  const void *a, *b;
  int step_a, step_b;
  float* c;
  int step_c;
};

// c = aᵀ · b, columns step_… apart.
void multiply(void* of) {
  const auto& args = *static_cast<const Product*>(of);
  for (int column = 0; column < args.n; ++column)
    for (int row = 0; row < args.m; ++row) {
      double sum = 0;
      for (int i = 0; i < args.k; ++i)
        sum += double{half_at(args.a, static_cast<std::size_t>(row * args.step_a + i))} *
               double{half_at(args.b, static_cast<std::size_t>(column * args.step_b + i))};
      args.c[column * args.step_c + row] = static_cast<float>(sum);
    }
}

}  // namespace

int cublasCreate_v2(void** handle) {
  if (const int failed = status()) return failed;
  ++the_fake_cublas.n_living;
  *handle = &the_fake_cublas;
  return 0;
}
int cublasDestroy_v2(void*) {
  --the_fake_cublas.n_living;
  return 0;
}
int cublasSetStream_v2(void*, void*) {
  return status();
}
int cublasSetWorkspace_v2(void*, void*, std::size_t) {
  return status();
}

int cublasGemmEx(void*, int turn_a, int turn_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int step_a, const void* b, int type_b, int step_b,
                 const void* beta, void* c, int type_c, int step_c, int sums, int algorithm) {
  if (const int failed = status()) return failed;
  constexpr int kNotSupported = 15;
  if (turn_a != 1 || turn_b != 0 || type_a != 2 || type_b != 2 || type_c != 0 || sums != 68 ||
      algorithm != -1 || *static_cast<const float*>(alpha) != 1 ||
      *static_cast<const float*>(beta) != 0)
    return kNotSupported;
  Product product{m, n, k, a, b, step_a, step_b, static_cast<float*>(c), step_c};
  the_fake_cublas.reach(multiply, &product);
  for (int column = 0; column < n; ++column)
    the_fake_cublas.wrote(product.c + column * step_c, static_cast<std::size_t>(m) * sizeof(float));
  ++the_fake_cublas.n_products;
  return 0;
}
}
