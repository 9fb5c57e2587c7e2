#include "runtime/chat/episodes_text.h"

namespace satchel::runtime {

std::string describe(const SeenEpisodes& episodes) {
  const std::size_t n = episodes.seen.size();
  if (n == 0) return {};
  std::string text = n == 1 ? "part " : "parts ";
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) text += i + 1 == n ? " and " : ", ";
    text += std::to_string(episodes.seen[i] + 1);
  }
  return text + " of " + std::to_string(episodes.n_all);
}

}  // namespace satchel::runtime
