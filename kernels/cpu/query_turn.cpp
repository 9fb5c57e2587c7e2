#include "kernels/cpu/query_turn.h"

#include <array>

#include "kernels/base/assert.h"
#include "kernels/contract/turn.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kPairsMax = 128;

void turn_back(const AttendTable& table, std::int32_t shift, const RopeTable& rope, float* rows,
               std::size_t n_rows, std::size_t head_dim) {
  const std::size_t n_pairs = rope.inverse_frequency.size();
  if (n_pairs == 0) return;  // a layer without RoPE
  SATCHEL_ASSERT(2 * n_pairs <= head_dim && n_pairs <= kPairsMax);
  std::array<float, 2 * kPairsMax> turns;
  table.rotation(-shift, rope.inverse_frequency.data(), n_pairs, turns.data());
  rotate_pairs(rope.pairs, n_pairs, turns.data(), rows, n_rows, head_dim);
}

}  // namespace

void turn_query(const AttendTable& table, const QueryTurn& turn, const RopeTable& rope, float* rows,
                std::size_t n_rows, std::size_t head_dim) {
  // A frame counts where there is RoPE; a shift comes with the caller's.
  const RopeTable& by = turn.basis.rope.inverse_frequency.empty() ? rope : turn.basis.rope;
  if (turn.shift != 0) turn_back(table, turn.shift, by, rows, n_rows, head_dim);
  if (turn.turn == Turn::basis)
    table.turn_queries(turn.basis.from, rows, n_rows, head_dim);
  else if (turn.turn == Turn::hadamard)
    table.turn_hadamard(rows, n_rows, head_dim);
}

}  // namespace satchel::kernels::cpu
