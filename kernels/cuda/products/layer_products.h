// LayerProducts: the products of a layer that share an input, in few launches. Activations become
// operands once, fused with the norm or gate. Products with one weight type are one launch, which
// also adds biases and the existing output.
//   launches  project 1 + 1; norm_project 1 + 1; add_projection 1 + 1; feed_forward 2 + 2; one more
//             per additional weight type. Where no weight takes operands, the first launch is the
//             norm or gate alone.
//   owns      memory for one set of operands, which grows to the need of the largest call so far
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/products/matmul.h"

namespace satchel::kernels::cuda {

class LayerProducts {
 public:
  using Projection = Backend::Projection;

  explicit LayerProducts(Device& device) : device_(&device) {}
  std::size_t bytes() const { return operands_.size(); }

  // As the Backend's of these names.
  Result<void> project(const float* x, std::size_t n_tokens,
                       std::span<const Projection> projections);
  Result<void> norm_project(const float* x, const float* gain, std::size_t n_tokens, float epsilon,
                            float* normed, std::span<const Projection> projections);
  Result<void> add_projection(const float* from, std::size_t n_tokens, const Projection& projection,
                              float* x);
  Result<void> feed_forward(const Backend::FeedForward& args, float* x, std::size_t n_tokens);

 private:
  void take(std::span<const Projection> projections);
  bool take_operands(std::size_t n_tokens) const;
  // products_ of what `from` stands for; `x` is where that lies, or will.
  Result<void> multiply(const Activations& from, const float* x, std::size_t n_tokens);

  Device* device_;
  Buffer operands_;
  std::vector<Product> products_;  // of the call that runs
};

}  // namespace satchel::kernels::cuda
