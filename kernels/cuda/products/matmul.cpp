// The choice of the kernel for a product.
#include "kernels/cuda/products/matmul.h"

#include <algorithm>

#include "kernels/cuda/products/product_kernels.h"

namespace satchel::kernels::cuda {
namespace {

// How many products, from the first on, fit into one launch.
std::size_t alike(std::span<const Product> products) {
  const DeviceMatrix& first = *products[0].weight;
  std::size_t n = 1;
  while (n < products.size() && n < kProductsMax && products[n].weight->type == first.type &&
         products[n].weight->n_in == first.n_in)
    ++n;
  return n;
}

}  // namespace

std::size_t splits_bytes(std::span<const Product> products, std::size_t n_tokens,
                         unsigned n_multiprocessors) {
  std::size_t most = 0;
  while (!products.empty()) {
    const auto some = products.first(alike(products));
    most = std::max(most, gemm_splits_bytes(some, n_tokens, n_multiprocessors));
    products = products.subspan(some.size());
  }
  return most;
}

cudaError_t multiply(Queue& queue, std::span<const Product> products, const ProductInput& input) {
  const std::size_t n = input.n_tokens;
  while (!products.empty()) {
    const auto some = products.first(alike(products));
    const DeviceMatrix& weight = *some[0].weight;
    cudaError_t error = cudaSuccess;
    if (n > kDecodeTokens && weight.takes_halves())
      error = multiply_gemm(queue, some, input);
    else if (weight.has_tiles())
      error = multiply_gemv(queue, some, input.integers, n);
    else
      error = multiply_float_rows(queue, some, input.x, n);
    if (error != cudaSuccess) return error;
    products = products.subspan(some.size());
  }
  return cudaSuccess;
}

}  // namespace satchel::kernels::cuda
