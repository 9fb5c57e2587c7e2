// RowsPlan: what attend_many() is given, for the lanes of one call: tiles, slices and room for parts.
// Kept from call to call.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/attend_many.h"
#include "kernels/cuda/lane_sources.h"
#include "kernels/cuda/workplace.h"

namespace satchel::kernels::cuda {

class RowsPlan {
 public:
  void clear();
  // The rows of one lane, which read the sources from first_source on. Items of a call have one
  // head_dim, and all are for attend() or all for log_sum().
  void add(RowsItem item, const LaneSources& lanes, std::size_t first_source);
  Result<void> run(const Workplace& at, LaneSources& lanes);

 private:
  std::size_t place(std::byte* at);

  std::vector<RowsItem> items_;
  std::vector<KeyTile> tiles_;
  RowsShape shape_;
};

}  // namespace satchel::kernels::cuda
