// An axis of a plot: what range it shows, linear or logarithmic, and where its ticks stand.
#pragma once

#include <string>
#include <vector>

namespace satchel::app {

enum class AxisUnit { percent, number };  // percent: shares are shown as per cent

struct AxisRequest {
  std::vector<double> values;  // all that must be seen, the ends of error bars too; finite
  AxisUnit unit = AxisUnit::number;
  bool may_be_log = false;  // logarithmic where all is positive and reaches over a factor of six
  double floor = -1e300, ceiling = 1e300;  // no tick passes them: 0 and 1 of a share
};

class Axis {
 public:
  struct Tick {
    double value;
    std::string label;
  };
  static Axis of(const AxisRequest& request);

  double at(double value) const;  // 0 … 1 along the axis; outside of it where value is
  bool is_log() const { return log_; }
  const std::vector<Tick>& ticks() const { return ticks_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  void make_log();
  void make_linear(const AxisRequest& request);

  double low_ = 0, high_ = 1;
  bool log_ = false;
  std::vector<Tick> ticks_;
};

}  // namespace satchel::app
