// PrefillPlan: the plan of an attend_prefill() call: tiles, splits and memory for partial results.
// Reused between calls.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/device/op_context.h"
#include "kernels/cuda/lanes/lane_sources.h"

namespace satchel::kernels::cuda {

class PrefillPlan {
 public:
  void clear();
  // The rows of one lane, which read the sources from first_source on. Items of a call have one
  // head_dim, and all are for attend() or all for logsumexp().
  void add(RowsItem item, const LaneSources& lanes, std::size_t first_source);
  // sink_logits: of attend(), as AttendArgs has them.
  Result<void> run(const OpContext& at, LaneSources& lanes,
                   std::span<const float> sink_logits = {});

 private:
  std::size_t place(std::byte* at);

  std::vector<RowsItem> items_;
  std::vector<KeyTile> tiles_;
  RowsShape shape_;
};

}  // namespace satchel::kernels::cuda
