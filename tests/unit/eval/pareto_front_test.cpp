// The Pareto front by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/eval/commands/pareto_front.h"

namespace satchel::app {
namespace {

const Measure kRises{.name = "recall"}, kFalls{.name = "kl", .higher_is_better = false};

// The first point is "a".
std::string front_of(std::vector<ParetoPoint> points, const Measure& measure) {
  mark_front(points, measure);
  std::string names;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].front) names += static_cast<char>('a' + i);
  return names;
}

TEST(ParetoFront, holds_what_nothing_beats_in_both) {
  const std::vector<ParetoPoint> points = {
      {1.0, 0.99},  // a: best quality
      {0.5, 0.98},  // b: half the bytes
      {0.6, 0.97},  // c: beaten by b
      {0.5, 0.90},  // d: as many bytes as b, worse
      {0.2, 0.60},  // e: fewest bytes
      {1.2, 0.99},  // f: as good as a, more bytes
  };
  EXPECT_EQ(front_of(points, kRises), "abe");
  // Where less is better, the smallest point that is also the best stands alone.
  EXPECT_EQ(front_of(points, kFalls), "e");
}

TEST(ParetoFront, points_alike_are_both_on_it_and_one_alone_always_is) {
  EXPECT_EQ(front_of({{0.5, 0.9}, {0.5, 0.9}}, kRises), "ab");
  EXPECT_EQ(front_of({{0.5, 0}}, kFalls), "a");
  EXPECT_EQ(front_of({}, kFalls), "");
}

}  // namespace
}  // namespace satchel::app
