#include "kernels/cpu/dispatch/attend_plan.h"

#include <algorithm>

#include "kernels/base/assert.h"
#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/dispatch/softmax_state.h"

namespace satchel::kernels::cpu {
namespace {

void split_units(SequencePlan& plan, std::size_t n_lanes) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < n_lanes; ++i) longest = std::max(longest, n_units(plan.lane(i)));
  const auto n_splits = [&] { return (longest + plan.split_units - 1) / plan.split_units; };
  plan.split_units = AttendPlan::kSplitUnits;
  while (n_splits() > AttendPlan::kSplitsMax) plan.split_units *= 2;
  plan.n_splits = std::max<std::size_t>(n_splits(), 1);
}

SequencePlan plan_sequence(const Sequence& sequence, std::size_t n_lanes, std::size_t n_group) {
  SequencePlan plan{.lanes = &HostLaneTable::of(*sequence.lanes),
                    .first_lane = sequence.first_lane,
                    .first_token = sequence.first_token,
                    .n_rows = sequence.n_tokens * n_group,
                    .few = sequence.n_tokens <= AttendPlan::kFewTokens};
  plan.block_rows = std::min(plan.n_rows, AttendPlan::kBlockRows);
  plan.n_blocks = (plan.n_rows + AttendPlan::kBlockRows - 1) / AttendPlan::kBlockRows;
  if (plan.few) split_units(plan, n_lanes);
  return plan;
}

// Whether attention finds the same in both. Layouts belong to caches: chats that share pages have
// a copy each, and a lane's pages mostly have one layout.
class PagesAlike {
 public:
  bool operator()(const PageView& a, const PageView& b) {
    return a.bytes == b.bytes && a.n_tokens == b.n_tokens && a.live == b.live &&
           a.shift == b.shift && a.first_position == b.first_position &&
           a.last_position == b.last_position && alike(a.layout, b.layout);
  }

 private:
  bool alike(const PageLayout* a, const PageLayout* b) {
    if (a == b || (a == a_ && b == b_)) return true;
    if (*a != *b) return false;
    a_ = a;
    b_ = b;
    return true;
  }
  const PageLayout *a_ = nullptr, *b_ = nullptr;
};

bool is_split_alike(const SequencePlan& a, const SequencePlan& b, std::size_t lane,
                    std::size_t split) {
  if (a.split_units != b.split_units || a.n_rows != b.n_rows) return false;
  const std::size_t begin = split * a.split_units, end = begin + a.split_units;
  const auto of_a = a.lane(lane).pages, of_b = b.lane(lane).pages;
  return end <= of_a.size() && end <= of_b.size() &&
         std::equal(of_a.begin() + static_cast<std::ptrdiff_t>(begin),
                    of_a.begin() + static_cast<std::ptrdiff_t>(end),
                    of_b.begin() + static_cast<std::ptrdiff_t>(begin), PagesAlike());
}

}  // namespace

std::size_t n_units(const LaneView& lane) {
  std::size_t n = lane.pages.size();
  for (const ExactRun& run : lane.runs) n += (run.n_tokens + kTileTokens - 1) / kTileTokens;
  return n;
}

void AttendPlan::make(const AttendArgs& args) {
  sequences.clear();
  items.clear();
  members.clear();
  n_group = args.n_heads / args.n_kv_heads;
  width = (args.head_dim + kWidthStep - 1) / kWidthStep * kWidthStep;
  most_block_rows = most_few_rows = partial_floats = 0;
  std::size_t n_splits = 0;
  for (const Sequence& sequence : args.sequences) {
    if (sequence.n_tokens == 0) continue;
    SATCHEL_ASSERT(sequence.first_token + sequence.n_tokens <= args.batch.n_tokens);
    add_sequence(sequence, args.n_kv_heads);
    n_splits = std::max(n_splits, sequences.back().n_splits);
  }
  reserve_items(args.n_kv_heads);
  for (std::size_t lane = 0; lane < args.n_kv_heads; ++lane)
    for (std::size_t split = 0; split < n_splits; ++split) add_items(lane, split, args.window == 0);
}

// As many as there can be once the lanes have grown: a step allocates nothing.
void AttendPlan::reserve_items(std::size_t n_lanes) {
  std::size_t n_most = 0;
  for (const SequencePlan& sequence : sequences)
    n_most += n_lanes * sequence.n_blocks * (sequence.few ? kSplitsMax : 1);
  items.reserve(n_most);
  members.reserve(n_most);
}

void AttendPlan::add_sequence(const Sequence& sequence, std::size_t n_lanes) {
  SequencePlan plan = plan_sequence(sequence, n_lanes, n_group);
  plan.partials_at = partial_floats;
  if (plan.n_splits > 1)
    partial_floats +=
        n_lanes * plan.n_blocks * plan.n_splits * SoftmaxState::floats(plan.block_rows, width);
  most_block_rows = std::max(most_block_rows, plan.block_rows);
  if (plan.few) most_few_rows = std::max(most_few_rows, plan.block_rows);
  sequences.push_back(plan);
}

void AttendPlan::add_items(std::size_t lane, std::size_t split, bool may_join) {
  has_item_.assign(sequences.size(), false);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const SequencePlan& sequence = sequences[i];
    if (has_item_[i] || split >= sequence.n_splits) continue;
    if (sequence.n_splits > 1 && sequence.n_blocks == 1) {
      add_joint_item(lane, split, i, may_join);
      continue;
    }
    for (std::size_t block = 0; block < sequence.n_blocks; ++block) {
      items.push_back(
          {.lane = lane, .block = block, .split = split, .first_member = members.size()});
      members.push_back(static_cast<std::uint32_t>(i));
    }
  }
}

// Of sequence `first`, and of those after it whose split is alike.
void AttendPlan::add_joint_item(std::size_t lane, std::size_t split, std::size_t first,
                                bool may_join) {
  AttendItem item{.lane = lane, .split = split, .first_member = members.size()};
  const SequencePlan& sequence = sequences[first];
  members.push_back(static_cast<std::uint32_t>(first));
  for (std::size_t i = first + 1; may_join && i < sequences.size(); ++i) {
    if ((item.n_members + 1) * sequence.n_rows > kBlockRows) break;
    if (has_item_[i] || split >= sequences[i].n_splits) continue;
    if (!is_split_alike(sequence, sequences[i], lane, split)) continue;
    has_item_[i] = true;
    members.push_back(static_cast<std::uint32_t>(i));
    ++item.n_members;
  }
  most_block_rows = std::max(most_block_rows, item.n_members * sequence.n_rows);
  most_few_rows = std::max(most_few_rows, item.n_members * sequence.n_rows);
  items.push_back(item);
}

}  // namespace satchel::kernels::cpu
