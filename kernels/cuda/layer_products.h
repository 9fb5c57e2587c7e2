// LayerProducts: the products of a layer that share an input, in few launches: activations become
// operands once (norm or gate on the way), products of one type are one launch, biases and the sum
// with what stands there belong to it.
//   launches  project 1 + 1; norm_project 1 + 1; feed_forward 2 + 2; one more for each further type
//             of weight. Without tiles: what needs no operands has none, but its norm or gate
//   owns      room for one set of operands; grows to what the largest call so far needed
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kernels/cuda/blas_products.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/matmul.h"

namespace satchel::kernels::cuda {

class LayerProducts {
 public:
  using Projection = Backend::Projection;

  // blas: for products of many tokens; null: those of matmul.h for all.
  explicit LayerProducts(Device& device, std::unique_ptr<BlasProducts> blas = nullptr)
      : device_(&device), blas_(std::move(blas)) {}
  std::size_t bytes() const { return operands_.size() + (blas_ == nullptr ? 0 : blas_->bytes()); }

  // As the Backend's of these names.
  Result<void> project(const float* x, std::size_t n_tokens,
                       std::span<const Projection> projections);
  Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens, float epsilon,
                            float* normed, std::span<const Projection> projections);
  Result<void> feed_forward(const Backend::FeedForward& args, float* x, std::size_t n_tokens);

 private:
  bool takes_blas(std::size_t n_tokens) const {
    return blas_ != nullptr && n_tokens >= BlasProducts::kTokensMin;
  }
  // Operands of `from`, where a weight of products_ takes them.
  Result<Operands> operands_of(const Activations& from, std::size_t n_tokens);
  Result<void> multiply(const float* x, const Operands& operands, std::size_t n_tokens);
  void take(std::span<const Projection> projections);
  bool takes_operands(std::size_t n_tokens) const;

  Device* device_;
  std::unique_ptr<BlasProducts> blas_;
  Buffer operands_;
  std::vector<Product> products_;  // of the call that runs
};

}  // namespace satchel::kernels::cuda
