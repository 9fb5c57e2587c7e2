// Divides an attention call into items, by lengths only and never by the number of threads. An item
// is one sequence, one of its lanes, a block of query rows, and a split of the lane's units (pages,
// and runs in parts of 128 tokens). If a lane has several splits (few rows), partial results are
// merged in their order.
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
  std::size_t n_blocks = 1, n_splits = 1;
  bool few = false;
  std::size_t first_item = 0;   // lane by lane, block by block, split by split
  std::size_t partials_at = 0;  // in floats; where n_splits > 1 each item keeps its results there

  const LaneView& lane(std::size_t i) const { return lanes->lane(first_lane + i); }
};

// The backend reuses it between calls, so that a repeated call does not allocate.
struct AttendPlan {
  // Chosen: up to this many query tokens count as a decode step (or a speculative one).
  static constexpr std::size_t kFewTokens = 8;
  // 64 tokens of three heads: a tile is made once for them, which costs 6 % of their products.
  static constexpr std::size_t kBlockRows = 192;
  // 1024 tokens of full pages to a split, and at most 16 splits, so that partial results stay
  // small.
  static constexpr std::size_t kSplitUnits = 8, kSplitsMax = 16;

  std::size_t n_group = 1;  // query heads of a lane
  std::size_t width = 0;
  std::size_t most_block_rows = 0, most_few_rows = 0;  // of a block, of all and of few rows
  std::size_t n_items = 0;
  std::size_t partial_floats = 0;  // of all sequences
  std::vector<SequencePlan> sequences;

  void make(const AttendArgs& args);
  const SequencePlan& sequence_of_item(std::size_t item) const;
};

std::size_t n_units(const LaneView& lane);

}  // namespace satchel::kernels::cpu
