#include "app/cli/eval/axis.h"

#include <algorithm>
#include <cmath>

#include "app/cli/eval/text_table.h"

namespace satchel::app {
namespace {

constexpr double kLogFrom = 6;  // chosen: below it a logarithmic axis has hardly a tick

// 1, 2, 2.5 or 5 times a power of ten, so that about five steps cover the range.
double nice_step(double range) {
  const double raw = range / 5, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10 * power;
}

// "0.01", where short_number() has "0.0100".
std::string without_end_zeros(double value) {
  std::string text = short_number(value);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

Axis Axis::of(const AxisRequest& request) {
  Axis axis;
  if (!request.values.empty()) {
    const auto [low, high] = std::minmax_element(request.values.begin(), request.values.end());
    axis.low_ = *low;
    axis.high_ = *high;
  }
  axis.log_ = request.may_be_log && axis.low_ > 0 && axis.high_ > kLogFrom * axis.low_;
  if (axis.log_)
    axis.make_log();
  else
    axis.make_linear(request);
  for (Tick& tick : axis.ticks_)
    tick.label = request.unit == AxisUnit::percent ? short_percent(tick.value)
                                                   : without_end_zeros(tick.value);
  return axis;
}

void Axis::make_log() {
  low_ /= 1.15;
  high_ *= 1.15;
  const bool wide = high_ > 300 * low_;
  for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (wide && factor != 1.0) continue;
      if (const double value = factor * power; value >= low_ && value <= high_)
        ticks_.push_back({value, {}});
    }
}

void Axis::make_linear(const AxisRequest& request) {
  const double range = high_ > low_ ? high_ - low_ : std::max(std::abs(high_) / 10, 0.1);
  low_ = std::max(request.floor, low_ - 0.06 * range);
  high_ = std::min(request.ceiling, high_ + 0.06 * range);
  if (high_ <= low_) low_ = high_ - range;
  const double step = nice_step(high_ - low_);
  // Whole steps, so that the ends are ticks …
  low_ = std::max(request.floor, std::floor(low_ / step + 1e-9) * step);
  high_ = std::min(request.ceiling, std::ceil(high_ / step - 1e-9) * step);
  const auto first = static_cast<long>(std::ceil(low_ / step - 1e-9));
  for (long i = first; static_cast<double>(i) * step <= high_ + 1e-9 * step; ++i)
    ticks_.push_back({static_cast<double>(i) * step, {}});
  // … and a little more, so that a mark on the last of them is seen whole.
  const double margin = 0.03 * (high_ - low_);
  low_ -= margin;
  high_ += margin;
}

double Axis::at(double value) const {
  if (log_) return std::log(value / low_) / std::log(high_ / low_);
  return (value - low_) / (high_ - low_);
}

}  // namespace satchel::app
