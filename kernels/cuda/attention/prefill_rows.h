// PrefillRows: attend() for prefill, from lane tables to launches.
#pragma once

#include "kernels/cuda/attention/prefill_plan.h"
#include "kernels/cuda/device/op_context.h"
#include "kernels/cuda/lanes/lane_sources.h"

namespace satchel::kernels::cuda {

class PrefillRows {
 public:
  Result<void> attend(const OpContext& at, const AttendArgs& args);
  std::size_t bytes() const { return lanes_.bytes(); }

 private:
  void add_lane(const AttendArgs& args, const Sequence& sequence, std::size_t kv_head);

  LaneSources lanes_;
  PrefillPlan rows_;
  std::vector<ExactRun> runs_;  // of a lane
};

}  // namespace satchel::kernels::cuda
