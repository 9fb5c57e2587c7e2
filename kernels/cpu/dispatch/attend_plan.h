// Divides an attention call into items, by lengths only and never by the number of threads. An item
// is one sequence, one of its lanes, a block of query rows, and a split of the lane's units (pages,
// and runs in parts of 128 tokens). If a lane has several splits (few rows), partial results are
// merged in their order.
//   joint   where a split holds the same pages in several sequences (chats that share a text), one
//           item reads it for the query rows of all of them; each merges its own rows as ever.
//           Splits begin at multiples of a length, and a row comes out the same whatever rows
//           stand beside it, so a sequence gets the bits that it gets alone
//   source  arXiv:2402.05099 (Hydragen) section 3: attention over a shared prefix, batched over
//           sequences
//   differs splits of pages are compared, not prefixes declared: trees of prefixes share as well.
//           Layers with a window, which read little, share nothing
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
  std::size_t split_units = 0;  // of each split but the last; 0: all
  bool few = false;
  // In floats. Where n_splits > 1 each split keeps its results there: lane by lane, block by block.
  std::size_t partials_at = 0;

  const LaneView& lane(std::size_t i) const { return lanes->lane(first_lane + i); }
};

struct AttendItem {
  std::size_t lane = 0, block = 0, split = 0;
  std::size_t first_member = 0, n_members = 1;  // in AttendPlan::members
};

// The backend reuses it between calls, so that a repeated call does not allocate.
struct AttendPlan {
  // Chosen: up to this many query tokens count as a decode step (or a speculative one).
  static constexpr std::size_t kFewTokens = 8;
  // 64 tokens of three heads: a tile is made once for them, which costs 6 % of their products.
  static constexpr std::size_t kBlockRows = 192;
  // 1024 tokens of full pages to a split, twice as many until there are at most 16 splits, so that
  // partial results stay small.
  static constexpr std::size_t kSplitUnits = 8, kSplitsMax = 16;

  std::size_t n_group = 1;  // query heads of a lane
  std::size_t width = 0;
  std::size_t most_block_rows = 0, most_few_rows = 0;  // of a block, of all and of few rows
  std::size_t partial_floats = 0;                      // of all sequences
  std::vector<SequencePlan> sequences;
  std::vector<AttendItem> items;
  std::vector<std::uint32_t> members;  // sequences of items; an item of several is joint

  void make(const AttendArgs& args);
  std::span<const std::uint32_t> members_of(const AttendItem& item) const {
    return std::span(members).subspan(item.first_member, item.n_members);
  }

 private:
  void add_sequence(const Sequence& sequence, std::size_t n_lanes);
  void add_items(std::size_t lane, std::size_t split, bool may_join);
  void reserve_items(std::size_t n_lanes);
  void add_joint_item(std::size_t lane, std::size_t split, std::size_t first, bool may_join);

  std::vector<bool> has_item_;  // by sequence, of a lane's split
};

std::size_t n_units(const LaneView& lane);

}  // namespace satchel::kernels::cpu
