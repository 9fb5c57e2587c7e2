// What the reference's recurrent layers share: functions of numbers, and the convolution before
// them.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/contract/recurrent.h"

namespace satchel::kernels::reference {

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
inline double silu(double x) {
  return x * sigmoid(x);
}
inline double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

void convolve(const SiluConv& conv, const StateSequence& sequence);

}  // namespace satchel::kernels::reference
