// Which points nobody beats: none holds as few bytes with as good a quality, and one of the two
// better.
#pragma once

#include <vector>

#include "app/eval/commands/task.h"

namespace satchel::app {

// One recipe at one share, as one measure of one task sees it.
struct ParetoPoint {
  double bytes_share = 0;  // allocated with all metadata, of the same tokens in fp16
  double value = 0;        // of the measure
  bool front = false;
};
// Sets `front`. Points that are alike in both are both on it.
void mark_front(std::vector<ParetoPoint>& points, const Measure& measure);

}  // namespace satchel::app
