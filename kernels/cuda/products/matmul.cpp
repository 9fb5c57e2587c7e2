// The choice of the kernel for a product.
#include "kernels/cuda/products/matmul.h"

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

cudaError_t multiply(Queue& queue, std::span<const Product> products, const float* x,
                     const Operands& operands, std::size_t n_tokens) {
  while (!products.empty()) {
    const auto some = products.first(alike(products));
    const bool has_tiles = some[0].weight->has_tiles(), are_decode = n_tokens <= kGemvTokensMax;
    const cudaError_t error = !has_tiles   ? multiply_float_rows(queue, some, x, n_tokens)
                              : are_decode ? multiply_gemv(queue, some, operands, n_tokens)
                                           : multiply_gemm(queue, some, operands, n_tokens);
    if (error != cudaSuccess) return error;
    products = products.subspan(some.size());
  }
  return cudaSuccess;
}

}  // namespace satchel::kernels::cuda
