// The Pareto front by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/eval/commands/pareto_front.h"

namespace satchel::app {
namespace {

ParetoPoint point(const std::string& recipe, double bytes_share, double value) {
  return {.recipe = recipe, .keep = 0.5, .bytes_share = bytes_share, .value = value, .se = 0.02};
}

std::string front_of(std::vector<ParetoPoint> points, Better better) {
  mark_front(points, better);
  std::string names;
  for (const ParetoPoint& each : points)
    if (each.front) names += each.recipe;
  return names;
}

TEST(ParetoFront, holds_what_nothing_beats_in_both) {
  const std::vector<ParetoPoint> points = {
      point("a", 1.0, 0.99),  // best quality
      point("b", 0.5, 0.98),  // half the bytes
      point("c", 0.6, 0.97),  // beaten by b
      point("d", 0.5, 0.90),  // as many bytes as b, worse
      point("e", 0.2, 0.60),  // fewest bytes
      point("f", 1.2, 0.99),  // as good as a, more bytes
  };
  EXPECT_EQ(front_of(points, Better::higher), "abe");
  // Where less is better, the smallest point that is also the best stands alone.
  EXPECT_EQ(front_of(points, Better::lower), "e");
}

TEST(ParetoFront, points_alike_are_both_on_it_and_one_alone_always_is) {
  EXPECT_EQ(front_of({point("a", 0.5, 0.9), point("b", 0.5, 0.9)}, Better::higher), "ab");
  EXPECT_EQ(front_of({point("a", 0.5, 0)}, Better::lower), "a");
  EXPECT_EQ(front_of({}, Better::lower), "");
}

}  // namespace
}  // namespace satchel::app
