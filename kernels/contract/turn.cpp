#include "kernels/contract/turn.h"

#include <cmath>

#include "kernels/base/assert.h"

namespace satchel::kernels {
namespace {

void hadamard(float* x, std::size_t n, float norm) {
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    for (std::size_t first = 0; first < n; first += 2 * distance) {
      for (std::size_t i = first; i < first + distance; ++i) {
        const float a = x[i], b = x[i + distance];
        x[i] = a + b;
        x[i + distance] = a - b;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) x[i] *= norm;
}

}  // namespace

void turn_rows(Turn turn, float* rows, std::size_t n_rows, std::size_t head_dim) {
  if (turn == Turn::none) return;
  SATCHEL_ASSERT(turn == Turn::hadamard && head_dim > 0);
  const std::size_t n = turn_block(head_dim);
  const auto norm = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  for (std::size_t i = 0; i < n_rows * head_dim; i += n) hadamard(rows + i, n, norm);
}

}  // namespace satchel::kernels
