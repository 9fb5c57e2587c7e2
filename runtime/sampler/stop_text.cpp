#include "runtime/sampler/stop_text.h"

#include <algorithm>
#include <utility>

namespace satchel::runtime {
namespace {

// How many of the last bytes of `text` begin `stop`.
std::size_t n_begun(std::string_view text, std::string_view stop) {
  for (std::size_t n = std::min(text.size(), stop.size()); n > 0; --n)
    if (text.ends_with(stop.substr(0, n))) return n;
  return 0;
}

}  // namespace

std::string StopText::push(std::string_view delta) {
  if (found()) return "";
  held_ += delta;
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_)
    if (const std::size_t at = held_.find(stop); at < first) {
      first = at;
      met_ = stop;
    }
  if (found()) return std::exchange(held_, {}).substr(0, first);
  std::size_t n_kept = 0;
  for (const std::string& stop : stops_) n_kept = std::max(n_kept, n_begun(held_, stop));
  std::string shown = held_.substr(0, held_.size() - n_kept);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopText::finish() {
  return std::exchange(held_, {});
}

}  // namespace satchel::runtime
