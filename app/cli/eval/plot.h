// A plot of bytes against quality: a panel for each measure, a line for each recipe, error bars of
// one standard error, the Pareto front behind them. Colours for the colour-blind (Okabe & Ito), and
// marks and dashes that tell recipes apart without any colour.
#pragma once

#include <string>
#include <vector>

#include "app/cli/eval/pareto_front.h"

namespace satchel::app {

struct ParetoPanel {
  std::string title;    // "recall"
  std::string y_label;  // "questions answered rightly"
  bool is_share = true;
  Better better = Better::higher;
  std::string x_label = "bytes held, of fp16";
  std::vector<ParetoPoint> points;
};
struct ParetoPlot {
  std::string title;
  std::string subtitle = {}, second_subtitle = {};  // a line each
  std::vector<ParetoPanel> panels;
};
std::string svg_of(const ParetoPlot& plot);

}  // namespace satchel::app
