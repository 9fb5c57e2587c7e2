#include "app/eval/commands/pareto_front.h"

#include <algorithm>

namespace satchel::app {

void mark_front(std::vector<ParetoPoint>& points, const Measure& measure) {
  const double sign = measure.higher_is_better ? 1 : -1;
  const auto beats = [&](const ParetoPoint& a, const ParetoPoint& b) {
    const double a_value = sign * a.value, b_value = sign * b.value;
    if (a.bytes_share > b.bytes_share || a_value < b_value) return false;
    return a.bytes_share < b.bytes_share || a_value > b_value;
  };
  for (ParetoPoint& point : points)
    point.front = std::none_of(points.begin(), points.end(),
                               [&](const ParetoPoint& other) { return beats(other, point); });
}

}  // namespace satchel::app
