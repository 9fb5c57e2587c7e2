// The softmax state of attention over some of a lane's tokens, to be merged: for each row the
// largest logit, the sum of exp(logit - largest), and the weighted sum of V.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/cpu/dispatch/attend_table.h"

namespace satchel::kernels::cpu {

inline constexpr float kNothingVisible = -std::numeric_limits<float>::infinity();

struct SoftmaxState {
  float* most = nullptr;   // [n_rows]
  float* total = nullptr;  // [n_rows]
  float* sum = nullptr;    // [n_rows, width]

  static std::size_t state_floats(std::size_t n_rows) {
    return (n_rows + kWidthStep - 1) / kWidthStep * kWidthStep;
  }
  static std::size_t floats(std::size_t n_rows, std::size_t width) {
    return 2 * state_floats(n_rows) + n_rows * width;
  }
  // Cuts floats(n_rows, width) floats.
  static SoftmaxState in(float* memory, std::size_t n_rows) {
    const std::size_t state = state_floats(n_rows);
    return {.most = memory, .total = memory + state, .sum = memory + 2 * state};
  }

  void clear(std::size_t n_rows, std::size_t width) const {
    std::fill_n(most, n_rows, kNothingVisible);
    std::fill_n(total, n_rows, 0.0f);
    std::fill_n(sum, n_rows * width, 0.0f);
  }
  void merge(const SoftmaxState& from, std::size_t n_rows, std::size_t width) const {
    for (std::size_t r = 0; r < n_rows; ++r) merge_row(from, r, width);
  }

 private:
  void merge_row(const SoftmaxState& from, std::size_t r, std::size_t width) const {
    if (from.most[r] == kNothingVisible) return;
    if (most[r] == kNothingVisible) {
      most[r] = from.most[r];
      total[r] = from.total[r];
      std::copy_n(from.sum + r * width, width, sum + r * width);
      return;
    }
    const float now = std::max(most[r], from.most[r]);
    const float keep = std::exp(most[r] - now);
    const float take = std::exp(from.most[r] - now);
    most[r] = now;
    total[r] = total[r] * keep + from.total[r] * take;
    for (std::size_t c = r * width; c < (r + 1) * width; c += kWidthStep) {
      float both[kWidthStep];  // so the compiler sees that neither is written meanwhile
      for (std::size_t i = 0; i < kWidthStep; ++i)
        both[i] = sum[c + i] * keep + from.sum[c + i] * take;
      std::copy_n(both, kWidthStep, sum + c);
    }
  }
};

}  // namespace satchel::kernels::cpu
