// HostLaneTable: a LaneTable for backends whose memory is main memory. It keeps the spans it is
// given, so setting a lane is O(1) and copies nothing; the caller keeps them valid.
#pragma once

#include <vector>

#include "kernels/contract/lane_view.h"

namespace satchel::kernels {

class HostLaneTable final : public LaneTable {
 public:
  explicit HostLaneTable(std::size_t n_lanes) : lanes_(n_lanes) {}

  // What a backend in main memory may assume of the tables it made.
  static const HostLaneTable& of(const LaneTable& table) {
    return static_cast<const HostLaneTable&>(table);
  }

  std::size_t n_lanes() const override { return lanes_.size(); }
  Result<void> set_runs(std::size_t lane, std::span<const ExactRun> runs) override;
  Result<void> set_pages(std::size_t lane, std::span<const PageView> pages) override;
  const LaneView& lane(std::size_t lane) const;

 private:
  std::vector<LaneView> lanes_;
};

}  // namespace satchel::kernels
