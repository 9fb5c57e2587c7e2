// BlasProducts: products with weights by cuBLAS, for many tokens: rows made fp16 slice by slice in a
// scratch of fixed size, activations one fp16 each, a token's times a power of two.
//   differs  from matmul.h: activations and weights are rounded to fp16 (errors of some 3e-4, limit
//            1e-3), weights past 65504 become infinite, and the order of sums is
//            cuBLAS's, which may go by the number of tokens: a token's bytes then depend on how a
//            prompt is cut. So it is off unless it is asked for (CudaOptions)
//   owns     its scratch; that of the activations grows to what the largest call so far needed
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "kernels/cuda/blas.h"
#include "kernels/cuda/matmul.h"

namespace satchel::kernels::cuda {

class BlasProducts {
 public:
  // Where a GEMM on fp16 begins to be worth the making of it on sm_80 and sm_90. Chosen, not measured.
  static constexpr std::size_t kTokensMin = 256;
  static constexpr std::size_t kSliceBytes = std::size_t{16} << 20;

  // By the first of these files that can be used. Where none can there are no products, and why; where
  // none is named, neither. Fails only with the card.
  struct Opened {
    std::unique_ptr<BlasProducts> products;
    std::string why_not;
  };
  static Result<Opened> open(Device& device, std::span<const std::string> files);
  BlasProducts(Device& device, std::unique_ptr<Blas> blas, std::size_t slice_bytes = kSliceBytes)
      : device_(&device), blas_(std::move(blas)), slice_bytes_(slice_bytes) {}
  std::size_t bytes() const { return activations_.size() + slice_.size(); }

  // As multiply() of matmul.h. Products have one n_in.
  Result<void> multiply(std::span<const Product> products, const float* x, std::size_t n_tokens);

 private:
  Result<void> multiply_one(const Product& product, std::size_t n_tokens);

  Device* device_;
  std::unique_ptr<Blas> blas_;
  std::size_t slice_bytes_;
  Buffer activations_;  // fp16 [n_tokens, n_in], then what they are times, inverse
  Buffer slice_;        // fp16 rows of a weight, then what they give, fp32
};

}  // namespace satchel::kernels::cuda
