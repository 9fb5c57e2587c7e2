#include <cmath>

#include "kernels/reference/model_ops.h"

namespace satchel::kernels::reference {

Result<void> rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
                      float epsilon, float* out) {
  for (std::size_t t = 0; t < n_tokens; ++t) {
    const float* row = x + t * width;
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i)
      squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
    const double scale =
        1 / std::sqrt(squares / static_cast<double>(width) + static_cast<double>(epsilon));
    for (std::size_t i = 0; i < width; ++i)
      out[t * width + i] =
          static_cast<float>(static_cast<double>(row[i]) * scale * static_cast<double>(gain[i]));
  }
  return {};
}

Result<void> gated_silu(float* gate, const float* up, std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i) {
    const auto g = static_cast<double>(gate[i]);
    gate[i] = static_cast<float>(g / (1 + std::exp(-g)) * static_cast<double>(up[i]));
  }
  return {};
}

Result<void> add(float* x, const float* y, std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i) x[i] += y[i];
  return {};
}

}  // namespace satchel::kernels::reference
