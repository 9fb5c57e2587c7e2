// The Pareto front by hand, axes, and that a plot is a well-formed picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/cli/eval/axis.h"
#include "app/cli/eval/pareto_front.h"
#include "app/cli/eval/plot.h"
#include "app/cli/eval/svg.h"

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

TEST(Axis, its_ticks_are_round_and_reach_around_the_values) {
  const Axis linear = Axis::of({.values = {0.22, 0.91},
                                .unit = AxisUnit::percent,
                                .may_be_log = true,
                                .floor = 0,
                                .ceiling = 1});
  EXPECT_FALSE(linear.is_log());  // 0.91 / 0.22 is not far enough
  ASSERT_GE(linear.ticks().size(), 3u);
  EXPECT_EQ(linear.ticks().front().label, "0 %");
  EXPECT_EQ(linear.ticks().back().label, "100 %");
  for (const double value : {0.22, 0.91}) {
    EXPECT_GT(linear.at(value), 0);
    EXPECT_LT(linear.at(value), 1);
  }
  const Axis log = Axis::of({.values = {0.0004, 0.2}, .may_be_log = true});
  EXPECT_TRUE(log.is_log());
  EXPECT_NEAR(log.at(0.02) - log.at(0.002), log.at(0.2) - log.at(0.02), 1e-9);
  EXPECT_EQ(log.ticks().front().label, "0.001");
}

TEST(Axis, one_value_or_none_still_gives_a_range) {
  for (const std::vector<double>& values : {std::vector<double>{}, {0.7}, {0.0}, {1.0}}) {
    const Axis axis = Axis::of({.values = values, .floor = 0, .ceiling = 1});
    EXPECT_GT(axis.high(), axis.low());
    EXPECT_GE(axis.ticks().size(), 2u);
    for (const double value : values) {
      EXPECT_GE(axis.at(value), 0);
      EXPECT_LE(axis.at(value), 1);
    }
  }
}

// As much of XML as this writer writes: tags that open are closed in order, attributes are quoted.
bool is_well_formed(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
    const std::size_t end = text.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return false;
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.front() == '/') {
      if (open.empty() || "/" + open.back() != name) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

std::size_t n_times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Plot, is_a_well_formed_picture_with_a_mark_for_every_point) {
  ParetoPlot plot{.title = "a \"model\" <1> & more", .subtitle = "bytes", .panels = {}};
  const std::vector<ParetoPoint> points = {point("full", 1, 1), point("a<b", 0.5, 0.5),
                                           point("a<b", 0.25, 0.25)};
  plot.panels.push_back({.title = "recall", .y_label = "right", .points = points});
  plot.panels.push_back({.title = "agreement",
                         .y_label = "KL",
                         .is_share = false,
                         .better = Better::lower,
                         .points = {point("full", 1, 0), point("a<b", 0.2, 0.8)}});
  for (ParetoPanel& panel : plot.panels) mark_front(panel.points, panel.better);
  const std::string svg = svg_of(plot);
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_FALSE(is_well_formed(svg.substr(0, svg.size() / 2)));
  EXPECT_EQ(n_times(svg, "<path "), 5u + 2u);  // points, and a mark for each recipe in the legend
  EXPECT_NE(svg.find("a &quot;model&quot; &lt;1&gt; &amp; more"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_TRUE(is_well_formed(svg_of({.title = "empty", .subtitle = "", .panels = {}})));
}

TEST(Plot, what_lies_off_the_axis_is_a_line_across) {
  ParetoPanel panel{.title = "recall",
                    .y_label = "right",
                    .points = {point("exact", 1, 1), point("small", 0.05, 0.5)}};
  const auto picture = [&] { return svg_of({.title = "t", .panels = {panel}}); };
  mark_front(panel.points, panel.better);
  const std::string as_mark = picture();
  panel.points[0].level = true;
  const std::string as_line = picture();
  EXPECT_TRUE(is_well_formed(as_line)) << as_line;
  EXPECT_EQ(n_times(as_mark, "<path "), n_times(as_line, "<path ") + 2);  // a mark, and its legend
  EXPECT_EQ(n_times(as_line, ">exact<"), 1u);
}

TEST(Svg, numbers_have_no_exponent_and_text_no_markup) {
  EXPECT_EQ(svg_number(0.00001), "0.0");
  EXPECT_EQ(svg_number(1234567.25), "1234567.2");
  EXPECT_EQ(svg_escaped("<&>\"\x01 ok"), "&lt;&amp;&gt;&quot; ok");
}

}  // namespace
}  // namespace satchel::app
