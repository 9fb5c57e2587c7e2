// How one attention call is cut into pieces of work, by lengths alone, never by the number of
// threads: a piece is one lane, a block of query rows, and a span of the lane's segments (pages, and
// runs in pieces of 128 tokens). Where a lane is cut into spans (few rows), partial results are
// merged in the order of the spans.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cpu/attend_table.h"

namespace satchel::kernels::cpu {

struct AttendPlan {
  // Chosen: up to so many query tokens are a decode step (or a speculated one).
  static constexpr std::size_t kFewTokens = 8;
  // 64 tokens of three heads: a tile is made once for them, which costs 6 % of their products.
  static constexpr std::size_t kBlockRows = 192;
  // 1024 tokens to a span, and at most 16 spans, so that partial results stay small.
  static constexpr std::size_t kSpanSegments = 8, kSpansMax = 16;

  std::size_t n_group = 1;   // query heads of a lane
  std::size_t n_rows = 0;    // of a lane
  std::size_t n_blocks = 1;  // of rows
  std::size_t n_spans = 1;
  std::size_t width = 0;
  bool few = false;

  std::size_t n_pieces(std::size_t n_lanes) const { return n_lanes * n_blocks * n_spans; }
};

inline std::size_t n_segments(const LaneView& lane) {
  std::size_t n = lane.pages.size();
  for (const ExactRun& run : lane.runs) n += (run.n_tokens + kTileTokens - 1) / kTileTokens;
  return n;
}

inline AttendPlan plan_attend(const AttendArgs& args) {
  AttendPlan plan;
  plan.n_group = args.n_heads / args.lanes.size();
  plan.n_rows = args.n_tokens * plan.n_group;
  plan.n_blocks = (plan.n_rows + AttendPlan::kBlockRows - 1) / AttendPlan::kBlockRows;
  plan.width = (args.head_dim + kWidthStep - 1) / kWidthStep * kWidthStep;
  plan.few = args.n_tokens <= AttendPlan::kFewTokens;
  if (plan.few) {
    std::size_t longest = 0;
    for (const LaneView& lane : args.lanes) longest = std::max(longest, n_segments(lane));
    plan.n_spans = std::clamp<std::size_t>(
        (longest + AttendPlan::kSpanSegments - 1) / AttendPlan::kSpanSegments, 1,
        AttendPlan::kSpansMax);
  }
  return plan;
}

}  // namespace satchel::kernels::cpu
