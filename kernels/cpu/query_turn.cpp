#include "kernels/cpu/query_turn.h"

#include <array>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/contract/turn.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kPairsMax = 128;

void turn_back(std::int32_t shift, const RopeTable& rope, float* rows, std::size_t n_rows,
               std::size_t head_dim) {
  const std::size_t n_pairs = rope.inverse_frequency.size();
  SATCHEL_ASSERT(n_pairs > 0 && 2 * n_pairs <= head_dim && n_pairs <= kPairsMax);
  std::array<float, kPairsMax> cosine, sine;
  for (std::size_t i = 0; i < n_pairs; ++i) {
    const double phase = -static_cast<double>(shift) * rope.inverse_frequency[i];
    cosine[i] = static_cast<float>(std::cos(phase));
    sine[i] = static_cast<float>(std::sin(phase));
  }
  const bool adjacent = rope.pairs == RopePairs::adjacent;
  const std::size_t step = adjacent ? 2 : 1, other = adjacent ? 1 : n_pairs;
  for (std::size_t r = 0; r < n_rows; ++r) {
    float* row = rows + r * head_dim;
    for (std::size_t i = 0; i < n_pairs; ++i) {
      float &first = row[i * step], &second = row[i * step + other];
      const float a = first, b = second;
      first = a * cosine[i] - b * sine[i];
      second = a * sine[i] + b * cosine[i];
    }
  }
}

}  // namespace

void turn_query(const AttendTable& table, const QueryTurn& turn, const RopeTable& rope, float* rows,
                std::size_t n_rows, std::size_t head_dim) {
  if (turn.shift != 0) turn_back(turn.shift, rope, rows, n_rows, head_dim);
  if (turn.turn == Turn::basis)
    table.times(turn.basis.from, rows, n_rows, head_dim);
  else
    turn_rows(turn.turn, rows, n_rows, head_dim);
}

}  // namespace satchel::kernels::cpu
