#include "kernels/cpu/dispatch/attend_plan.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/dispatch/softmax_state.h"

namespace satchel::kernels::cpu {
namespace {

std::size_t n_splits_of(const SequencePlan& sequence, std::size_t n_lanes) {
  if (!sequence.few) return 1;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < n_lanes; ++i) longest = std::max(longest, n_units(sequence.lane(i)));
  const std::size_t n = (longest + AttendPlan::kSplitUnits - 1) / AttendPlan::kSplitUnits;
  return std::clamp<std::size_t>(n, 1, AttendPlan::kSplitsMax);
}

SequencePlan plan_sequence(const Sequence& sequence, std::size_t n_lanes, std::size_t n_group) {
  SequencePlan plan{.lanes = &HostLaneTable::of(*sequence.lanes),
                    .first_lane = sequence.first_lane,
                    .first_token = sequence.first_token,
                    .n_rows = sequence.n_tokens * n_group,
                    .few = sequence.n_tokens <= AttendPlan::kFewTokens};
  plan.block_rows = std::min(plan.n_rows, AttendPlan::kBlockRows);
  plan.n_blocks = (plan.n_rows + AttendPlan::kBlockRows - 1) / AttendPlan::kBlockRows;
  plan.n_splits = n_splits_of(plan, n_lanes);
  return plan;
}

}  // namespace

std::size_t n_units(const LaneView& lane) {
  std::size_t n = lane.pages.size();
  for (const ExactRun& run : lane.runs) n += (run.n_tokens + kTileTokens - 1) / kTileTokens;
  return n;
}

void AttendPlan::make(const AttendArgs& args) {
  sequences.clear();
  n_group = args.n_heads / args.n_kv_heads;
  width = (args.head_dim + kWidthStep - 1) / kWidthStep * kWidthStep;
  most_block_rows = most_few_rows = n_items = partial_floats = 0;
  for (const Sequence& sequence : args.sequences) {
    if (sequence.n_tokens == 0) continue;
    SATCHEL_ASSERT(sequence.first_token + sequence.n_tokens <= args.batch.n_tokens);
    SequencePlan plan = plan_sequence(sequence, args.n_kv_heads, n_group);
    const std::size_t n = args.n_kv_heads * plan.n_blocks * plan.n_splits;
    plan.first_item = n_items;
    plan.partials_at = partial_floats;
    if (plan.n_splits > 1) partial_floats += n * SoftmaxState::floats(plan.block_rows, width);
    n_items += n;
    most_block_rows = std::max(most_block_rows, plan.block_rows);
    if (plan.few) most_few_rows = std::max(most_few_rows, plan.block_rows);
    sequences.push_back(plan);
  }
}

const SequencePlan& AttendPlan::sequence_of_item(std::size_t item) const {
  const auto after = std::upper_bound(
      sequences.begin(), sequences.end(), item,
      [](std::size_t i, const SequencePlan& sequence) { return i < sequence.first_item; });
  return *(after - 1);
}

}  // namespace satchel::kernels::cpu
