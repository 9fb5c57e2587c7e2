#include <cmath>
#include <numbers>

#include "kernels/reference/model_ops.h"

namespace satchel::kernels::reference {

void rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
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
}

namespace {

// x · (1 + tanh(u)) / 2 is x / (1 + exp(-2u)), which loses nothing where tanh is near -1.
double activate(Activation activation, double x) {
  if (activation == Activation::silu) return x / (1 + std::exp(-x));
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

}  // namespace

void glu(Activation activation, float* gate, const float* up, std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i)
    gate[i] = static_cast<float>(activate(activation, static_cast<double>(gate[i])) *
                                 static_cast<double>(up[i]));
}

void add(float* x, const float* y, std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i) x[i] += y[i];
}

void scale(float* x, float factor, std::size_t n_values) {
  for (std::size_t i = 0; i < n_values; ++i) x[i] *= factor;
}

void soft_cap(float* x, float cap, std::size_t n_values) {
  const auto most = static_cast<double>(cap);
  for (std::size_t i = 0; i < n_values; ++i)
    x[i] = static_cast<float>(most * std::tanh(static_cast<double>(x[i]) / most));
}

}  // namespace satchel::kernels::reference
