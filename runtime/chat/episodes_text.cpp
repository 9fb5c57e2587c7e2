#include "runtime/chat/episodes_text.h"

namespace satchel::runtime {
namespace {

std::string parts_text(const std::vector<std::size_t>& parts) {
  const std::size_t n = parts.size();
  if (n == 0) return {};
  std::string text = n == 1 ? "part " : "parts ";
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) text += i + 1 == n ? " and " : ", ";
    text += std::to_string(parts[i] + 1);
  }
  return text;
}

}  // namespace

std::string describe(const SeenEpisodes& episodes) {
  if (episodes.seen.empty()) return {};
  return parts_text(episodes.seen) + " of " + std::to_string(episodes.n_all);
}

std::string describe_quoted(const SeenEpisodes& episodes) {
  return parts_text(episodes.quoted);
}

std::string describe_missing(const SeenEpisodes& episodes) {
  return parts_text(episodes.missing);
}

PartsRead of_all(const std::vector<PartsRead>& documents) {
  PartsRead all;
  for (const PartsRead& document : documents) {
    all.n_read += document.n_read;
    all.n_all += document.n_all;
  }
  return all;
}

std::string describe(const std::vector<PartsRead>& documents) {
  const PartsRead all = of_all(documents);
  if (all.n_read == all.n_all) return {};
  return std::to_string(all.n_read) + " of " + std::to_string(all.n_all) + " parts read";
}

}  // namespace satchel::runtime
