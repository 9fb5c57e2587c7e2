#include "kernels/cpu/attention/query_transform.h"

#include <array>

#include "kernels/base/assert.h"
#include "kernels/contract/transform.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kPairsMax = kHeadDimMax / 2;

void rotate_back(const AttendTable& table, std::int32_t shift, const RopeTable& rope, float* rows,
                 std::size_t n_rows, std::size_t head_dim) {
  const std::size_t n_pairs = rope.inverse_frequency.size();
  if (n_pairs == 0) return;  // a layer without RoPE
  SATCHEL_ASSERT(2 * n_pairs <= head_dim && n_pairs <= kPairsMax);
  std::array<float, 2 * kPairsMax> rotations;
  table.rotation(-shift, rope.inverse_frequency.data(), n_pairs, rotations.data());
  table.rotate({.x = rows,
                .n_tokens = 1,
                .n_heads = n_rows,
                .head_dim = head_dim,
                .rotation = rotations.data(),
                .n_pairs = n_pairs,
                .adjacent = rope.pairs == RopePairs::adjacent});
}

}  // namespace

void transform_query(const AttendTable& table, const QueryTransform& transform,
                     const RopeTable& rope, float* rows, std::size_t n_rows, std::size_t head_dim) {
  // A frame is in the basis's RoPE, a shift in the caller's.
  const RopeTable& by =
      transform.basis.rope.inverse_frequency.empty() ? rope : transform.basis.rope;
  if (transform.shift != 0) rotate_back(table, transform.shift, by, rows, n_rows, head_dim);
  if (transform.transform == Transform::basis)
    table.transform_queries(transform.basis.from, rows, n_rows, head_dim);
  else if (transform.transform == Transform::hadamard)
    table.transform_hadamard(rows, n_rows, head_dim);
}

}  // namespace satchel::kernels::cpu
