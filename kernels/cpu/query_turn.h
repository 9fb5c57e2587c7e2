// Query rows as a page wants them: RoPE is relative, so a page that was moved by `shift` keeps its
// keys and the query is turned back by as much, and by the frame of keys in a basis; then it is turned
// like the keys (Turn).
//   differs  phases in float64, rounded to fp32 once; tests/unit/kernels/attend_test.cpp holds it
//            against float64 throughout
#pragma once

#include "kernels/contract/backend.h"
#include "kernels/contract/turn.h"
#include "kernels/cpu/attend_table.h"

namespace satchel::kernels::cpu {

struct QueryTurn {
  std::int32_t shift = 0;  // of page and frame
  Turn turn = Turn::none;
  Basis basis = {};
  bool is_none() const { return shift == 0 && turn == Turn::none; }
  friend bool operator==(const QueryTurn&, const QueryTurn&) = default;
};

inline QueryTurn turn_for(const PageView& page) {
  const OperandLayout& k = page.layout->k;
  return {
      .shift = page.shift + frame_of(*page.layout, page.bytes), .turn = k.turn, .basis = k.basis};
}

// rows [n_rows, head_dim] in place; head_dim <= 256.
void turn_query(const AttendTable& table, const QueryTurn& turn, const RopeTable& rope, float* rows,
                std::size_t n_rows, std::size_t head_dim);

}  // namespace satchel::kernels::cpu
