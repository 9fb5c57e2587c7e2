// How one attention call is cut into pieces of work, by lengths alone, never by the number of
// threads: a piece is one sequence, one of its lanes, a block of query rows, and a span of the
// lane's segments (pages, and runs in pieces of 128 tokens). Where a lane is cut into spans (few
// rows), partial results are merged in the order of the spans.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/contract/backend.h"
#include "kernels/contract/host_lane_table.h"

namespace satchel::kernels::cpu {

struct SequencePlan {
  const HostLaneTable* lanes = nullptr;
  std::size_t first_lane = 0, first_token = 0;
  std::size_t n_rows = 0;      // of a lane
  std::size_t block_rows = 0;  // rows of a block; the last may have fewer
  std::size_t n_blocks = 1, n_spans = 1;
  bool few = false;
  std::size_t first_piece = 0;  // pieces: lane by lane, block by block, span by span
  std::size_t partials_at = 0;  // in floats; where n_spans > 1 each piece keeps its results there

  const LaneView& lane(std::size_t i) const { return lanes->lane(first_lane + i); }
};

// Kept by the backend from call to call, so that a call like one before allocates nothing.
struct AttendPlan {
  // Chosen: up to so many query tokens are a decode step (or a speculated one).
  static constexpr std::size_t kFewTokens = 8;
  // 64 tokens of three heads: a tile is made once for them, which costs 6 % of their products.
  static constexpr std::size_t kBlockRows = 192;
  // 1024 tokens of full pages to a span, and at most 16 spans, so that partial results stay small.
  static constexpr std::size_t kSpanSegments = 8, kSpansMax = 16;

  std::size_t n_group = 1;  // query heads of a lane
  std::size_t width = 0;
  std::size_t most_block_rows = 0, most_few_rows = 0;  // of a block, of all and of few rows
  std::size_t n_pieces = 0;
  std::size_t partial_floats = 0;  // of all sequences
  std::vector<SequencePlan> sequences;

  void make(const AttendArgs& args);
  const SequencePlan& sequence_of_piece(std::size_t piece) const;
};

std::size_t n_segments(const LaneView& lane);

}  // namespace satchel::kernels::cpu
