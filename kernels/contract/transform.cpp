#include "kernels/contract/transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/assert.h"

namespace satchel::kernels {
namespace {

// Four neighbouring values as a copy, so that the compiler sees that halves do not overlap.
struct Four {
  float x[4];
  static Four at(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  void store(float* to) const { std::copy_n(x, 4, to); }
};

Four within_four(const Four& v) {  // distances 1 and 2
  const float a = v.x[0] + v.x[1], b = v.x[0] - v.x[1];
  const float c = v.x[2] + v.x[3], d = v.x[2] - v.x[3];
  return {{a + c, b + d, a - c, b - d}};
}

void hadamard(float* x, std::size_t n, float norm) {
  for (std::size_t i = 0; i < n; i += 4) within_four(Four::at(x + i)).store(x + i);
  for (std::size_t distance = 4; distance < n; distance *= 2) {
    for (std::size_t first = 0; first < n; first += 2 * distance) {
      for (std::size_t i = first; i < first + distance; i += 4) {
        const Four a = Four::at(x + i), b = Four::at(x + i + distance);
        Four sum, difference;
        for (std::size_t k = 0; k < 4; ++k) {
          sum.x[k] = a.x[k] + b.x[k];
          difference.x[k] = a.x[k] - b.x[k];
        }
        sum.store(x + i);
        difference.store(x + i + distance);
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) x[i] *= norm;
}

// row · matrix. Entries of the result are independent, so the compiler can vectorise them.
void times(const float* matrix, float* row, std::size_t n) {
  float sums[kHeadDimMax];
  std::fill_n(sums, n, 0.0f);
  for (std::size_t i = 0; i < n; ++i) {
    const float x = row[i];
    const float* const of = matrix + i * n;
    for (std::size_t j = 0; j < n; ++j) sums[j] += x * of[j];
  }
  std::copy_n(sums, n, row);
}
// row · matrixᵀ
void times_transposed(const float* matrix, float* row, std::size_t n) {
  float sums[kHeadDimMax];
  for (std::size_t j = 0; j < n; ++j) {
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += row[i] * matrix[j * n + i];
    sums[j] = sum;
  }
  std::copy_n(sums, n, row);
}

template <class RowByMatrix>
void transform_by(const OperandLayout& operand, float* rows, std::size_t n_rows,
                  std::size_t head_dim, const RowByMatrix& in_basis) {
  if (operand.transform != Transform::basis)
    return transform_rows(operand.transform, rows, n_rows, head_dim);
  SATCHEL_ASSERT(operand.basis.to != nullptr && operand.basis.from != nullptr);
  SATCHEL_ASSERT(head_dim <= kHeadDimMax);
  for (std::size_t r = 0; r < n_rows; ++r) in_basis(rows + r * head_dim);
}

// rotations [n_pairs] are cosine and sine.
void rotate_pairs(RopePairs pairs, std::size_t n_pairs, const float* rotations, float* rows,
                  std::size_t n_rows, std::size_t head_dim) {
  SATCHEL_ASSERT(2 * n_pairs <= head_dim);
  const bool adjacent = pairs == RopePairs::adjacent;
  const std::size_t step = adjacent ? 2 : 1, other = adjacent ? 1 : n_pairs;
  for (std::size_t r = 0; r < n_rows; ++r) {
    float* row = rows + r * head_dim;
    for (std::size_t i = 0; i < n_pairs; ++i) {
      const float cosine = rotations[2 * i], sine = rotations[2 * i + 1];
      float &first = row[i * step], &second = row[i * step + other];
      const float a = first, b = second;
      first = a * cosine - b * sine;
      second = a * sine + b * cosine;
    }
  }
}

}  // namespace

std::int32_t frame_of(const OperandLayout& keys, std::int32_t first_position) {
  if (keys.transform != Transform::basis || keys.basis.rope.inverse_frequency.empty()) return 0;
  return std::max(first_position, 0) / kFrameTokens * kFrameTokens;
}

std::int32_t frame_of(const PageLayout& layout, const std::byte* page) {
  if (layout.k.transform != Transform::basis) return 0;
  std::int32_t first = 0;
  std::memcpy(&first, page + layout.positions_at, sizeof(first));
  return frame_of(layout.k, first);
}

void rotate_rows(const RopeTable& rope, std::int32_t by, float* rows, std::size_t n_rows,
                 std::size_t head_dim) {
  const std::size_t n_pairs = rope.inverse_frequency.size();
  if (by == 0 || n_pairs == 0) return;
  SATCHEL_ASSERT(head_dim <= kHeadDimMax && 2 * n_pairs <= head_dim);
  float rotations[kHeadDimMax];
  for (std::size_t i = 0; i < n_pairs; ++i) {
    const double angle = static_cast<double>(by) * rope.inverse_frequency[i];
    rotations[2 * i] = static_cast<float>(std::cos(angle));
    rotations[2 * i + 1] = static_cast<float>(std::sin(angle));
  }
  rotate_pairs(rope.pairs, n_pairs, rotations, rows, n_rows, head_dim);
}

void transform_into(const OperandLayout& operand, std::int32_t frame, float* rows,
                    std::size_t n_rows, std::size_t head_dim) {
  rotate_rows(operand.basis.rope, -frame, rows, n_rows, head_dim);
  transform_by(operand, rows, n_rows, head_dim,
               [&](float* row) { times(operand.basis.to, row, head_dim); });
}

void transform_out(const OperandLayout& operand, std::int32_t frame, float* rows,
                   std::size_t n_rows, std::size_t head_dim) {
  transform_by(operand, rows, n_rows, head_dim,
               [&](float* row) { times_transposed(operand.basis.from, row, head_dim); });
  rotate_rows(operand.basis.rope, frame, rows, n_rows, head_dim);
}

void transform_queries(const OperandLayout& operand, std::int32_t frame, float* rows,
                       std::size_t n_rows, std::size_t head_dim) {
  rotate_rows(operand.basis.rope, -frame, rows, n_rows, head_dim);
  transform_by(operand, rows, n_rows, head_dim,
               [&](float* row) { times(operand.basis.from, row, head_dim); });
}

void transform_rows(Transform transform, float* rows, std::size_t n_rows, std::size_t head_dim) {
  if (transform == Transform::none) return;
  SATCHEL_ASSERT(transform == Transform::hadamard && head_dim > 0);
  const std::size_t n = hadamard_block(head_dim);
  SATCHEL_ASSERT(n % 4 == 0);
  const auto norm = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
  for (std::size_t i = 0; i < n_rows * head_dim; i += n) hadamard(rows + i, n, norm);
}

}  // namespace satchel::kernels
