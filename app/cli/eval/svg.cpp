#include "app/cli/eval/svg.h"

#include <charconv>
#include <utility>

namespace satchel::app {
namespace {

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + svg_number(value) + "\"";
}

}  // namespace

std::string svg_number(double value) {
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 1);
  return error == std::errc() ? std::string(buffer, end) : "0";
}

std::string svg_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)  // XML knows no other control characters here
      out += c;
  }
  return out;
}

Svg::Svg(double width, double height, std::string_view title) {
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
         attribute("height", height) + " viewBox=\"0 0 " + svg_number(width) + " " +
         svg_number(height) +
         "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title>" +
         svg_escaped(title) + "</title>\n";
  rect({0, 0}, width, height, R"(fill="#ffffff")");
}

void Svg::line(SvgPoint from, SvgPoint to, std::string_view attributes) {
  out_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
          attribute("y2", to.y) + " " + std::string(attributes) + "/>\n";
}

void Svg::polyline(const std::vector<SvgPoint>& points, std::string_view attributes) {
  out_ += "<polyline points=\"";
  for (const SvgPoint& point : points)
    out_ += svg_number(point.x) + "," + svg_number(point.y) + " ";
  out_ += "\" fill=\"none\" " + std::string(attributes) + "/>\n";
}

void Svg::rect(SvgPoint corner, double width, double height, std::string_view attributes) {
  out_ += "<rect" + attribute("x", corner.x) + attribute("y", corner.y) +
          attribute("width", width) + attribute("height", height) + " " + std::string(attributes) +
          "/>\n";
}

void Svg::path(std::string_view d, std::string_view attributes, std::string_view tooltip) {
  out_ += "<path d=\"" + std::string(d) + "\" " + std::string(attributes);
  out_ += tooltip.empty() ? "/>\n" : "><title>" + svg_escaped(tooltip) + "</title></path>\n";
}

void Svg::text(SvgPoint at, std::string_view words, std::string_view attributes) {
  out_ += "<text" + attribute("x", at.x) + attribute("y", at.y) + " " + std::string(attributes) +
          ">" + svg_escaped(words) + "</text>\n";
}

std::string Svg::finish() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace satchel::app
