// Which points nobody beats: none holds as few bytes with as good a quality, and one of the two
// better.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace satchel::app {

// One recipe at one share, as one measure of one task sees it.
struct ParetoPoint {
  std::string recipe;
  double keep = 1;           // share of tokens
  double bytes_share = 0;    // allocated with all metadata, of the same tokens in fp16
  double value = 0;          // of the measure
  std::optional<double> se;  // its standard error
  bool front = false;
};
enum class Better { higher, lower };

// Sets `front`. Points that are alike in both are both on it.
void mark_front(std::vector<ParetoPoint>& points, Better better);

}  // namespace satchel::app
