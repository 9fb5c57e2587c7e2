// One piece of an attention call: query rows of one lane against some of its segments.
//   turned  pages that were moved or lie turned get a query turned to fit (query_turn.h). V that
//           lies turned is summed apart and the sum turned back at the end: turning is linear
#pragma once

#include "kernels/cpu/attend_partial.h"
#include "kernels/cpu/attend_plan.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/query_turn.h"

namespace satchel::kernels::cpu {

// Scratch of one thread, for the largest piece of a call.
struct PieceMemory {
  float *q = nullptr, *q_slots = nullptr;              // as asked, times the scale
  float *turned_q = nullptr, *turned_slots = nullptr;  // as the last page that was turned wants it
  std::int32_t* positions = nullptr;
  float *tile_k = nullptr, *tile_v = nullptr;
  Partial own;       // where the piece is all of its lane
  Partial turned_v;  // over pages whose V lies turned

  static std::size_t floats(const AttendPlan& plan, std::size_t head_dim);
  static PieceMemory in(float* memory, const AttendPlan& plan, std::size_t head_dim);
};

// Rows first_row … first_row + n_rows - 1 of lane `lane` of a sequence. Row r is head r % n_group of
// the lane, of the sequence's token r / n_group.
struct PieceRange {
  const SequencePlan* sequence = nullptr;
  std::size_t lane = 0;
  std::size_t first_row = 0, n_rows = 0;
};

class AttendPiece {
 public:
  AttendPiece(const AttendTable& table, const AttendArgs& args, const AttendPlan& plan,
              const PieceRange& range, const PieceMemory& memory, const Partial& out);

  // Takes segments begin … end - 1 of the lane into `out`: pages first, then the runs.
  void run(std::size_t begin, std::size_t end);

 private:
  void load_rows();
  void page(const PageView& view, const PageView* after);
  void exact(const ExactTile& tile, const LaneRows& rows);
  void run_tile(const ExactTile& tile);
  LaneRows rows_for(const PageView& page);
  void turn_rows_for(const QueryTurn& turn);
  const float* slots_of(const float* q);
  const KeyParts& parts_of(const PageLayout& layout);
  void merge_turned();
  bool anyone_sees(std::int64_t first_position, std::int64_t last_position) const;

  const AttendTable& table_;
  const AttendArgs& args_;
  const AttendPlan& plan_;
  const PieceRange range_;
  const PieceMemory memory_;
  const Partial out_;
  const LaneView& lane_;
  LaneRows rows_;
  QueryTurn turned_for_;  // what turned_q holds; none at first
  bool has_slots_ = false, has_turned_slots_ = false;
  bool any_turned_v_ = false;
  const PageLayout* parts_layout_ = nullptr;  // whose parts_ are
  KeyParts parts_;
};

// The query row of the call that is row `row` of a lane.
std::size_t query_of(const AttendArgs& args, const AttendPlan& plan, const PieceRange& range,
                     std::size_t row);

}  // namespace satchel::kernels::cpu
