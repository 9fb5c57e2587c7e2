#include "app/eval/commands/eta.h"

#include <cmath>

namespace satchel::app {

void Eta::known(const Kind& kind, double ms) {
  alike_[kind].add(ms);
  same_what_[kind.what].add(ms);
  all_.add(ms);
}

void Eta::measured(const Kind& kind, double ms) {
  dropped(kind);
  known(kind, ms);
}

void Eta::dropped(const Kind& kind) {
  const auto found = to_come_.find(kind);
  if (found != to_come_.end() && found->second > 0) --found->second;
}

std::optional<double> Eta::ms() const {
  if (all_.n == 0) return std::nullopt;
  double total = 0;
  for (const auto& [kind, n] : to_come_) {
    const auto alike = alike_.find(kind);
    const auto same = same_what_.find(kind.what);
    const Mean& mean = alike != alike_.end()      ? alike->second
                       : same != same_what_.end() ? same->second
                                                  : all_;
    total += static_cast<double>(n) * mean.sum / static_cast<double>(mean.n);
  }
  return total;
}

std::string left_text(double ms) {
  constexpr double kMinute = 60'000, kHour = 60 * kMinute;
  if (ms < kMinute) return "less than a minute left";
  if (ms < 2 * kHour)
    return "about " + std::to_string(static_cast<int>(std::ceil(ms / kMinute))) + " min left";
  return "about " + std::to_string(static_cast<int>(std::ceil(ms / kHour))) + " h left";
}

}  // namespace satchel::app
