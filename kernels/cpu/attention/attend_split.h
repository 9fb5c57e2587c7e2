// One split of an attention call: query rows of one lane against some of its units.
//   rotated  pages that were moved or transformed get a query transformed to match
//           (query_transform.h). Transformed V is summed separately, and the sum is transformed
//           back at the end, because transforms are linear. V of a latent lane is in the
//           transform of its K.
#pragma once

#include "kernels/cpu/attention/query_transform.h"
#include "kernels/cpu/dispatch/attend_plan.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/dispatch/softmax_state.h"

namespace satchel::kernels::cpu {

struct CpuContext;

// The workspace of one thread, for the largest split of a call.
struct SplitMemory {
  float *q = nullptr, *q_slots = nullptr;                        // times the scale
  float *transformed_q = nullptr, *transformed_slots = nullptr;  // for the last transformed page
  std::int32_t* positions = nullptr;
  float *tile_k = nullptr, *tile_v = nullptr;
  SoftmaxState own;            // if the lane has only one split
  SoftmaxState transformed_v;  // of pages whose V is transformed

  static std::size_t floats(const AttendPlan& plan, std::size_t head_dim);
  static SplitMemory in(float* memory, const AttendPlan& plan, std::size_t head_dim);
};

// Rows first_row … first_row + n_rows - 1 of lane `lane` of a sequence. Row r is head r % n_group
// of the lane for the sequence's token r / n_group.
struct SplitRange {
  const SequencePlan* sequence = nullptr;
  std::size_t lane = 0;
  std::size_t first_row = 0, n_rows = 0;
};

// The rows of an item: those of its block in each of its sequences, which have the same lane.
struct ItemRows {
  const AttendPlan* plan = nullptr;
  const AttendItem* item = nullptr;

  std::size_t n_members() const { return item->n_members; }
  SplitRange of_member(std::size_t i) const;
};

class AttendSplit {
 public:
  AttendSplit(const CpuContext& context, const AttendArgs& args, const AttendPlan& plan,
              const ItemRows& rows, const SplitMemory& memory, const SoftmaxState& out);

  // Adds units begin … end - 1 of the lane to `out`: pages first, then runs.
  void run(std::size_t begin, std::size_t end);

 private:
  void load_rows(const ItemRows& from);
  void load_rows(const SplitRange& from);
  void page(const PageView& view, const PageView* after);
  void exact(const ExactTile& tile, const LaneRows& rows);
  void run_tile(const ExactTile& tile);
  LaneRows rows_for(const PageView& page);
  void transform_rows_for(const QueryTransform& transform);
  const float* slots_of(const float* q);
  const KeyParts& parts_of(const PageLayout& layout);
  void merge_transformed();
  bool anyone_sees(std::int64_t first_position, std::int64_t last_position) const;

  const AttendTable& table_;
  const AttendArgs& args_;
  const AttendPlan& plan_;
  const SplitMemory memory_;
  const SoftmaxState out_;
  const LaneView& lane_;
  const bool few_;
  std::size_t n_rows_ = 0;
  std::int64_t first_position_ = 0, last_position_ = 0;  // of the rows
  LaneRows rows_;
  QueryTransform transformed_for_;  // what transformed_q holds; none at first
  bool has_slots_ = false, has_transformed_slots_ = false;
  const OperandLayout* transformed_v_ = nullptr;  // of what memory_.transformed_v sums; null: none
  const PageLayout* parts_layout_ = nullptr;      // to which parts_ belongs
  KeyParts parts_;
};

// The query row of the call for row `row` of a lane.
std::size_t query_of(const AttendArgs& args, const AttendPlan& plan, const SplitRange& range,
                     std::size_t row);

}  // namespace satchel::kernels::cpu
