#include "kvcache/lanes/reach.h"

#include <algorithm>

namespace satchel::kvcache {

std::optional<std::size_t> Reach::place(std::size_t position) const {
  if (position >= near_first) return parts.size();
  const auto behind = std::ranges::upper_bound(parts, position, {}, &Reach::Part::first);
  if (behind == parts.begin() || position >= std::prev(behind)->end()) return std::nullopt;
  return static_cast<std::size_t>(behind - parts.begin()) - 1;
}

std::optional<std::int32_t> Reach::moved(std::size_t position) const {
  const std::optional<std::size_t> in = place(position);
  if (!in) return std::nullopt;
  return *in < parts.size() ? parts[*in].moved : 0;
}

bool Reach::sees(std::size_t first, std::size_t end) const {
  return end > near_first || std::ranges::any_of(parts, [&](const Part& part) {
           return part.first < end && part.end() > first;
         });
}

bool Reach::holds(std::size_t n_tokens, std::size_t n_sinks) const {
  if (is_all()) return parts.empty();
  if (near_first > n_tokens || parts.empty()) return false;
  if (parts.front().first != 0 || parts.front().n_tokens < n_sinks) return false;
  std::size_t end = 0;
  for (const Reach::Part& part : parts) {
    if (part.first < end || part.n_tokens == 0) return false;
    if (part.first > near_first || part.n_tokens > near_first - part.first) return false;
    end = part.end();
    const auto seen_first = static_cast<std::int64_t>(part.first) + part.moved;
    const auto most = static_cast<std::int64_t>(near_first - part.n_tokens);
    if (seen_first < 0 || seen_first > most) return false;
  }
  return true;
}

void Reach::truncate(std::size_t n_tokens) {
  if (n_tokens >= near_first) return;
  std::erase_if(parts, [&](const Reach::Part& part) { return part.first >= n_tokens; });
  if (parts.empty() || parts.front().end() >= n_tokens) {
    *this = {};  // only the beginning is left
    return;
  }
  near_first = n_tokens;
  Reach::Part& last = parts.back();
  last.n_tokens = std::min(last.n_tokens, n_tokens - last.first);
  for (Reach::Part& part : parts)
    part.moved = std::min(part.moved, static_cast<std::int32_t>(n_tokens - part.end()));
}

}  // namespace satchel::kvcache
