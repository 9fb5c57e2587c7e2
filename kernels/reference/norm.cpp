#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {

Result<void> ReferenceBackend::rms_norm(const float* x, const float* gain, std::size_t n_tokens,
                                        std::size_t width, float epsilon, float* out) {
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

namespace {

// x · (1 + tanh(t)) / 2 is x / (1 + exp(-2t)), which loses nothing where tanh is near -1. Clamping
// passes a NaN on.
double gated(Activation activation, double x, double u) {
  if (activation == Activation::silu) return x / (1 + std::exp(-x)) * u;
  if (activation == Activation::clamped_silu) {
    const double most{kClampedMost}, slope{kClampedSlope}, g = std::min(x, most);
    return g / (1 + std::exp(-slope * g)) * (std::clamp(u, -most, most) + 1);
  }
  if (activation == Activation::sigmoid) return u / (1 + std::exp(-x));
  if (activation == Activation::relu) return (x < 0 ? 0 : x) * u;
  const double t = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * t)) * u;
}

}  // namespace

Result<void> ReferenceBackend::glu(Activation activation, float* gate, const float* up,
                                   std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i)
    gate[i] = static_cast<float>(
        gated(activation, static_cast<double>(gate[i]), static_cast<double>(up[i])));
  return {};
}

Result<void> ReferenceBackend::add(float* x, const float* y, std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i) x[i] += y[i];
  return {};
}

Result<void> ReferenceBackend::scale(float* x, float factor, std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i) x[i] *= factor;
  return {};
}

Result<void> ReferenceBackend::soft_cap(float* x, float cap, std::size_t n_values) {
  const auto most = static_cast<double>(cap);
  for (std::size_t i = 0; i < n_values; ++i)
    x[i] = static_cast<float>(most * std::tanh(static_cast<double>(x[i]) / most));
  return {};
}

}  // namespace satchel::kernels::reference
