// ManyRows: attend() for sequences of many query rows (prefill), from lane tables to launches.
#pragma once

#include "kernels/cuda/lane_sources.h"
#include "kernels/cuda/rows_plan.h"
#include "kernels/cuda/workplace.h"

namespace satchel::kernels::cuda {

class ManyRows {
 public:
  Result<void> attend(const Workplace& at, const AttendArgs& args);
  std::size_t bytes() const { return lanes_.bytes(); }

 private:
  void add_lane(const AttendArgs& args, const Sequence& sequence, std::size_t kv_head);

  LaneSources lanes_;
  RowsPlan rows_;
  std::vector<ExactRun> runs_;  // of a lane
};

}  // namespace satchel::kernels::cuda
