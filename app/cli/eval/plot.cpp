#include "app/cli/eval/plot.h"

#include <algorithm>
#include <array>

#include "app/cli/eval/axis.h"
#include "app/cli/eval/svg.h"
#include "app/cli/eval/text_table.h"

namespace satchel::app {
namespace {

constexpr double kPanelWidth = 430, kPanelHeight = 300;  // the frame, without labels
constexpr double kLeft = 84, kTop = 34, kBottom = 62, kGap = 36;
constexpr double kHead = 74, kMargin = 24, kLegendLine = 22, kLegendMark = 34;
constexpr std::size_t kColumns = 2;

constexpr std::array<const char*, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                 "#000000", "#E69F00", "#56B4E9", "#7A5C00"};
constexpr std::array<const char*, 5> kDashes = {"", "7 3", "2 3", "9 3 2 3", "4 2"};

std::string stroke(std::size_t series) {
  return "stroke=\"" + std::string(kColours[series % kColours.size()]) + "\"";
}

// Marks as paths; a pair of numbers is a place from the middle, 1 is the rim. Nine, so that with
// eight colours no two of the first 72 recipes are drawn alike.
constexpr std::array<const char*, 9> kMarks = {
    "M-1 0 A1 1 0 1 1 1 0 A1 1 0 1 1 -1 0 Z",
    "M-.9 -.9 L.9 -.9 L.9 .9 L-.9 .9 Z",
    "M0 -1.15 L1.1 .85 L-1.1 .85 Z",
    "M0 -1.25 L1.25 0 L0 1.25 L-1.25 0 Z",
    "M0 1.15 L1.1 -.85 L-1.1 -.85 Z",
    "M0 -1.2 L1.15 -.35 L.7 1 L-.7 1 L-1.15 -.35 Z",
    "M-1 -1 L1 1 M-1 1 L1 -1",
    "M0 -1.2 L0 1.2 M-1.2 0 L1.2 0",
    "M0 -1.2 L0 1.2 M-1.05 -.6 L1.05 .6 M-1.05 .6 L1.05 -.6"};

void draw_mark(Svg& svg, std::size_t series, SvgPoint at, const std::string& fill,
               const std::string& tooltip) {
  constexpr double kRadius = 4.5;
  svg.path(kMarks[series % kMarks.size()],
           "transform=\"translate(" + svg_number(at.x) + " " + svg_number(at.y) + ") scale(" +
               svg_number(kRadius) + ")\" " + stroke(series) + " stroke-width=\"0.45\" fill=\"" +
               fill + "\"",
           tooltip);
}

std::vector<std::string> recipes_of(const ParetoPlot& plot) {
  std::vector<std::string> names;
  for (const ParetoPanel& panel : plot.panels)
    for (const ParetoPoint& point : panel.points)
      if (!point.level && std::find(names.begin(), names.end(), point.recipe) == names.end())
        names.push_back(point.recipe);
  return names;
}

// One panel at its place.
class Panel {
 public:
  Panel(Svg& svg, const ParetoPanel& panel, SvgPoint corner)
      : svg_(svg), panel_(panel), corner_(corner), x_(x_axis()), y_(y_axis()) {}
  void draw(const std::vector<std::string>& recipes);

 private:
  Axis x_axis() const;
  Axis y_axis() const;
  // A value that a logarithmic axis cannot show stands on its floor.
  SvgPoint place(double x, double y) const {
    const double along = y_.is_log() && y <= 0 ? 0 : std::clamp(y_.at(y), 0.0, 1.0);
    return {corner_.x + kPanelWidth * x_.at(x), corner_.y + kPanelHeight * (1 - along)};
  }
  void draw_frame();
  void draw_front();
  void draw_level(const ParetoPoint& point);
  void draw_series(std::size_t series, const std::string& recipe);
  void draw_point(std::size_t series, const ParetoPoint& point);

  Svg& svg_;
  const ParetoPanel& panel_;
  SvgPoint corner_;
  Axis x_, y_;
};

Axis Panel::x_axis() const {
  AxisRequest request{.values = {}, .unit = AxisUnit::percent, .may_be_log = true, .floor = 0};
  for (const ParetoPoint& point : panel_.points)
    if (!point.level) request.values.push_back(point.bytes_share);
  return Axis::of(request);
}

Axis Panel::y_axis() const {
  AxisRequest request{.values = {},
                      .unit = panel_.is_share ? AxisUnit::percent : AxisUnit::number,
                      .may_be_log = !panel_.is_share,
                      .floor = 0};
  if (panel_.is_share) request.ceiling = 1;
  for (const ParetoPoint& point : panel_.points) {
    const double se = point.se.value_or(0);
    // What is zero, or as good as, is no reason to give up a logarithmic axis.
    if (!panel_.is_share && point.value <= 0) continue;
    request.values.push_back(point.value);
    request.values.push_back(point.value + se);
    if (panel_.is_share || point.value > 2 * se) request.values.push_back(point.value - se);
  }
  return Axis::of(request);
}

void Panel::draw_frame() {
  const SvgPoint o = corner_;
  svg_.text({o.x, o.y - 12}, panel_.title, R"(font-size="15" font-weight="bold" fill="#222222")");
  for (const Axis::Tick& tick : x_.ticks()) {
    const double x = o.x + kPanelWidth * x_.at(tick.value);
    svg_.line({x, o.y}, {x, o.y + kPanelHeight}, R"(stroke="#e6e6e6")");
    svg_.line({x, o.y + kPanelHeight}, {x, o.y + kPanelHeight + 5}, R"(stroke="#444444")");
    svg_.text({x, o.y + kPanelHeight + 20}, tick.label,
              R"(font-size="12" text-anchor="middle" fill="#444444")");
  }
  for (const Axis::Tick& tick : y_.ticks()) {
    const double y = o.y + kPanelHeight * (1 - y_.at(tick.value));
    svg_.line({o.x, y}, {o.x + kPanelWidth, y}, R"(stroke="#e6e6e6")");
    svg_.line({o.x - 5, y}, {o.x, y}, R"(stroke="#444444")");
    svg_.text({o.x - 9, y + 4}, tick.label, R"(font-size="12" text-anchor="end" fill="#444444")");
  }
  svg_.rect(o, kPanelWidth, kPanelHeight, R"(fill="none" stroke="#444444")");
  const bool shows_zero =
      y_.is_log() && std::any_of(panel_.points.begin(), panel_.points.end(),
                                 [](const ParetoPoint& point) { return point.value <= 0; });
  if (shows_zero)
    svg_.text({o.x - 9, o.y + kPanelHeight + 4}, "0",
              R"(font-size="12" text-anchor="end" fill="#444444")");
  svg_.text({o.x + kPanelWidth / 2, o.y + kPanelHeight + 42},
            panel_.x_label + (x_.is_log() ? " (logarithmic)" : ""),
            R"(font-size="13" text-anchor="middle" fill="#222222")");
  const std::string label = panel_.y_label + (y_.is_log() ? " (logarithmic)" : "");
  const SvgPoint at{o.x - kLeft + 16, o.y + kPanelHeight / 2};
  svg_.text(at, label,
            "font-size=\"13\" text-anchor=\"middle\" fill=\"#222222\" transform=\"rotate(-90 " +
                svg_number(at.x) + " " + svg_number(at.y) + ")\"");
}

// A staircase: what the front promises at a given size is what its next smaller point gives.
void Panel::draw_front() {
  std::vector<const ParetoPoint*> front;
  for (const ParetoPoint& point : panel_.points)
    if (point.front && !point.level) front.push_back(&point);
  std::sort(front.begin(), front.end(), [](const ParetoPoint* a, const ParetoPoint* b) {
    return a->bytes_share < b->bytes_share;
  });
  std::vector<SvgPoint> steps;
  for (const ParetoPoint* point : front) {
    const SvgPoint at = place(point->bytes_share, point->value);
    if (!steps.empty()) steps.push_back({at.x, steps.back().y});
    steps.push_back(at);
  }
  if (steps.empty()) return;
  steps.push_back({corner_.x + kPanelWidth, steps.back().y});
  svg_.polyline(steps, R"(stroke="#c9c9c9" stroke-width="7" stroke-linejoin="round")");
}

void Panel::draw_level(const ParetoPoint& point) {
  const double y = place(x_.low(), point.value).y;
  svg_.line({corner_.x, y}, {corner_.x + kPanelWidth, y},
            R"(stroke="#222222" stroke-width="1.2" stroke-dasharray="2 4")");
  svg_.text({corner_.x + 6, y - 5}, point.recipe, R"(font-size="12" fill="#222222")");
}

void Panel::draw_point(std::size_t series, const ParetoPoint& point) {
  const SvgPoint at = place(point.bytes_share, point.value);
  if (point.se && *point.se > 0) {
    const double top = place(point.bytes_share, point.value + *point.se).y,
                 bottom = place(point.bytes_share, point.value - *point.se).y;
    const std::string attributes = stroke(series) + " stroke-width=\"1.2\"";
    svg_.line({at.x, top}, {at.x, bottom}, attributes);
    for (const double y : {top, bottom}) svg_.line({at.x - 3.5, y}, {at.x + 3.5, y}, attributes);
  }
  const std::string fill = point.front ? kColours[series % kColours.size()] : "#ffffff";
  const auto number = [&](double x) {
    return panel_.is_share ? short_percent(x) : short_number(x);
  };
  draw_mark(svg_, series, at, fill,
            point.recipe + ", " + short_percent(point.keep) +
                " of the tokens: " + short_percent(point.bytes_share) + " of the bytes, " +
                number(point.value) + (point.se ? " ± " + number(*point.se) : ""));
}

void Panel::draw_series(std::size_t series, const std::string& recipe) {
  std::vector<const ParetoPoint*> points;
  for (const ParetoPoint& point : panel_.points)
    if (point.recipe == recipe && !point.level) points.push_back(&point);
  std::sort(points.begin(), points.end(), [](const ParetoPoint* a, const ParetoPoint* b) {
    return a->bytes_share < b->bytes_share;
  });
  std::vector<SvgPoint> line;
  for (const ParetoPoint* point : points) line.push_back(place(point->bytes_share, point->value));
  if (line.size() > 1)
    svg_.polyline(line, stroke(series) + " stroke-width=\"1.8\" stroke-dasharray=\"" +
                            kDashes[series % kDashes.size()] + "\"");
  for (const ParetoPoint* point : points) draw_point(series, *point);
}

void Panel::draw(const std::vector<std::string>& recipes) {
  draw_frame();
  draw_front();
  for (const ParetoPoint& point : panel_.points)
    if (point.level) draw_level(point);
  for (std::size_t i = 0; i < recipes.size(); ++i) draw_series(i, recipes[i]);
}

double legend_width(const std::vector<std::string>& recipes) {
  std::size_t longest = std::string("Pareto front, marks filled").size();
  for (const std::string& name : recipes) longest = std::max(longest, name.size());
  return kLegendMark + 7.4 * static_cast<double>(longest);
}

void draw_legend(Svg& svg, const std::vector<std::string>& recipes, SvgPoint at) {
  const auto entry = [&](const std::string& words) {
    svg.text({at.x + kLegendMark, at.y + 4}, words, R"(font-size="13" fill="#222222")");
    at.y += kLegendLine;
  };
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    svg.line(at, {at.x + 26, at.y},
             stroke(i) + " stroke-width=\"1.8\" stroke-dasharray=\"" + kDashes[i % kDashes.size()] +
                 "\"");
    draw_mark(svg, i, {at.x + 13, at.y}, "#ffffff", recipes[i]);
    entry(recipes[i]);
  }
  at.y += 8;
  svg.line(at, {at.x + 26, at.y}, R"(stroke="#c9c9c9" stroke-width="7")");
  entry("Pareto front, marks filled");
  svg.line({at.x + 13, at.y - 7}, {at.x + 13, at.y + 7}, R"(stroke="#222222")");
  for (const double y : {at.y - 7, at.y + 7})
    svg.line({at.x + 9.5, y}, {at.x + 16.5, y}, R"(stroke="#222222")");
  entry("± 1 standard error");
}

}  // namespace

std::string svg_of(const ParetoPlot& plot) {
  const std::vector<std::string> recipes = recipes_of(plot);
  const std::size_t n_columns = std::clamp<std::size_t>(plot.panels.size(), 1, kColumns);
  const std::size_t n_rows =
      (std::max<std::size_t>(plot.panels.size(), 1) + n_columns - 1) / n_columns;
  const double cell_width = kLeft + kPanelWidth + kGap, cell_height = kTop + kPanelHeight + kBottom;
  const double legend_x = kMargin + static_cast<double>(n_columns) * cell_width;
  const double legend_height = static_cast<double>(recipes.size() + 2) * kLegendLine + 30;
  const double height =
      kHead + std::max(static_cast<double>(n_rows) * cell_height, kTop + legend_height) + 8;
  Svg svg(legend_x + legend_width(recipes) + kMargin, height, plot.title);
  svg.text({kMargin, 30}, plot.title, R"(font-size="18" font-weight="bold" fill="#222222")");
  svg.text({kMargin, 50}, plot.subtitle, R"(font-size="12" fill="#555555")");
  svg.text({kMargin, 66}, plot.second_subtitle, R"(font-size="12" fill="#555555")");
  for (std::size_t i = 0; i < plot.panels.size(); ++i) {
    const auto column = static_cast<double>(i % n_columns),
               row = static_cast<double>(i / n_columns);
    Panel(svg, plot.panels[i],
          {kMargin + column * cell_width + kLeft, kHead + row * cell_height + kTop})
        .draw(recipes);
  }
  draw_legend(svg, recipes, {legend_x, kHead + kTop + 8});
  return std::move(svg).finish();
}

}  // namespace satchel::app
