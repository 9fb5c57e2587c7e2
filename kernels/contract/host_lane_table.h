// HostLaneTable: the LaneTable of backends whose memory is main memory. It stores the caller's
// spans, so setting a lane is O(1) and copies nothing. The caller keeps the spans valid.
#pragma once

#include <vector>

#include "kernels/base/assert.h"
#include "kernels/contract/lane_view.h"

namespace satchel::kernels {

class HostLaneTable final : public LaneTable {
 public:
  explicit HostLaneTable(std::size_t n_lanes) : lanes_(n_lanes) {}

  // Downcast for backends in main memory, all of whose tables have this type.
  static const HostLaneTable& of(const LaneTable& table) {
    return static_cast<const HostLaneTable&>(table);
  }

  std::size_t n_lanes() const override { return lanes_.size(); }
  Result<void> set_runs(std::size_t lane, std::span<const ExactRun> runs) override {
    SATCHEL_ASSERT(lane < lanes_.size());
    lanes_[lane].runs = runs;
    return {};
  }
  Result<void> set_pages(std::size_t lane, std::span<const PageView> pages) override {
    SATCHEL_ASSERT(lane < lanes_.size());
    lanes_[lane].pages = pages;
    return {};
  }
  const LaneView& lane(std::size_t lane) const {
    SATCHEL_ASSERT(lane < lanes_.size());
    return lanes_[lane];
  }

 private:
  std::vector<LaneView> lanes_;
};

}  // namespace satchel::kernels
