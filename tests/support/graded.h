// Graded keys for tests: bits by quad, and a basis of coordinates of unlike size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/contract/page_layout.h"
#include "kernels/contract/turn.h"

namespace satchel::test {

// to = H · diag(a), from = H · diag(1 / a), H a normalised Hadamard matrix in blocks, a falling from 4.
class TestBasis {
 public:
  explicit TestBasis(std::size_t head_dim) : to_(head_dim * head_dim), from_(to_.size()) {
    std::vector<float> row(head_dim);
    for (std::size_t i = 0; i < head_dim; ++i) {
      std::fill(row.begin(), row.end(), 0.0f);
      row[i] = 1;
      kernels::turn_rows(kernels::Turn::hadamard, row.data(), 1, head_dim);
      for (std::size_t j = 0; j < head_dim; ++j) {
        const float size = 4 * std::exp(-3 * static_cast<float>(j) / static_cast<float>(head_dim));
        to_[i * head_dim + j] = row[j] * size;
        from_[i * head_dim + j] = row[j] / size;
      }
    }
  }
  kernels::Basis view() const { return {.to = to_.data(), .from = from_.data()}; }

 private:
  std::vector<float> to_, from_;
};

// Quad after quad the bits of `pattern`, from the start again where it ends.
inline kernels::OperandShape graded_operand(std::vector<std::uint8_t> pattern,
                                            const kernels::Basis* basis = nullptr) {
  kernels::OperandShape shape{.form = kernels::OperandShape::Form::graded};
  for (std::size_t i = 0; i < shape.quad_bits.size(); ++i)
    shape.quad_bits[i] = pattern[i % pattern.size()];
  if (basis != nullptr) shape.turn = kernels::Turn::basis, shape.basis = *basis;
  return shape;
}

}  // namespace satchel::test
