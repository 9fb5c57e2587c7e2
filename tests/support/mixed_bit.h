// Mixed-bit keys for tests: bits by quad, and a basis of coordinates of unlike size, in frames.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/contract/page_layout.h"
#include "kernels/contract/transform.h"
#include "support/rope.h"

namespace satchel::test {

// H · diag(a), H a normalised Hadamard matrix in blocks, a falling from 4 by exp(-fall).
inline std::vector<float> falling_basis(std::size_t head_dim, double fall, bool inverse = false) {
  std::vector<float> matrix(head_dim * head_dim), row(head_dim);
  for (std::size_t i = 0; i < head_dim; ++i) {
    std::fill(row.begin(), row.end(), 0.0f);
    row[i] = 1;
    kernels::transform_rows(kernels::Transform::hadamard, row.data(), 1, head_dim);
    for (std::size_t j = 0; j < head_dim; ++j) {
      const double size =
          4 * std::exp(-fall * static_cast<double>(j) / static_cast<double>(head_dim));
      matrix[i * head_dim + j] = row[j] * static_cast<float>(inverse ? 1 / size : size);
    }
  }
  return matrix;
}

class TestBasis {
 public:
  explicit TestBasis(std::size_t head_dim)
      : to_(falling_basis(head_dim, 3)),
        from_(falling_basis(head_dim, 3, true)),
        frequencies_(rope_frequencies(head_dim)) {}
  kernels::Basis view() const {
    return {.to = to_.data(), .from = from_.data(), .rope = {.inverse_frequency = frequencies_}};
  }

 private:
  std::vector<float> to_, from_;
  std::vector<double> frequencies_;
};

// Quad after quad the bits of `pattern`, from the start again where it ends.
inline kernels::OperandShape graded_operand(std::vector<std::uint8_t> pattern,
                                            const kernels::Basis* basis = nullptr) {
  kernels::OperandShape shape{.form = kernels::OperandShape::Form::mixed_bit};
  for (std::size_t i = 0; i < shape.quad_bits.size(); ++i)
    shape.quad_bits[i] = pattern[i % pattern.size()];
  if (basis != nullptr) shape.transform = kernels::Transform::basis, shape.basis = *basis;
  return shape;
}

}  // namespace satchel::test
