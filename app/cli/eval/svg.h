// Svg: a picture as SVG 1.1 text. Lengths in pixels, y downwards; text of people is escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace satchel::app {

struct SvgPoint {
  double x = 0, y = 0;
};
// Attributes as they stand in the tag: R"(stroke="#000")".
class Svg {
 public:
  Svg(double width, double height, std::string_view title);

  void line(SvgPoint from, SvgPoint to, std::string_view attributes);
  void polyline(const std::vector<SvgPoint>& points, std::string_view attributes);
  void rect(SvgPoint corner, double width, double height, std::string_view attributes);
  void path(std::string_view d, std::string_view attributes, std::string_view tooltip = {});
  void text(SvgPoint at, std::string_view words, std::string_view attributes);
  std::string finish() &&;

 private:
  std::string out_;
};

std::string svg_number(double value);  // "12.3", never an exponent, whatever the locale
std::string svg_escaped(std::string_view text);

}  // namespace satchel::app
