#include "kernels/contract/host_lane_table.h"

#include "kernels/base/assert.h"

namespace satchel::kernels {

Result<void> HostLaneTable::set_runs(std::size_t lane, std::span<const ExactRun> runs) {
  SATCHEL_ASSERT(lane < lanes_.size());
  lanes_[lane].runs = runs;
  return {};
}

Result<void> HostLaneTable::set_pages(std::size_t lane, std::span<const PageView> pages) {
  SATCHEL_ASSERT(lane < lanes_.size());
  lanes_[lane].pages = pages;
  return {};
}

const LaneView& HostLaneTable::lane(std::size_t lane) const {
  SATCHEL_ASSERT(lane < lanes_.size());
  return lanes_[lane];
}

}  // namespace satchel::kernels
