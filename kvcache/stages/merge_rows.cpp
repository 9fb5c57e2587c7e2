#include "kvcache/stages/merge_rows.h"

#include <array>
#include <cmath>
#include <utility>

namespace satchel::kvcache {

Result<LaneRows> download_rows(kernels::Backend& backend, const Half* from, const MergeLane& lane) {
  std::vector<Half> halves(lane.n_tokens * lane.head_dim);
  SATCHEL_TRY(backend.download(std::as_writable_bytes(std::span(halves)),
                               reinterpret_cast<const std::byte*>(from)));
  LaneRows rows{.head_dim = lane.head_dim, .x = std::vector<float>(halves.size())};
  for (std::size_t i = 0; i < halves.size(); ++i) rows.x[i] = half_to_float(halves[i]);
  return rows;
}

Result<void> upload_rows(kernels::Backend& backend, const LaneRows& rows, Half* to) {
  std::vector<Half> halves(rows.x.size());
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = float_to_half(rows.x[i]);
  return backend.upload(reinterpret_cast<std::byte*>(to), std::as_bytes(std::span(halves)));
}

float dot(std::span<const float> a, std::span<const float> b) {
  std::array<float, 8> sums = {};
  for (std::size_t i = 0; i < a.size(); i += 8)
    for (std::size_t j = 0; j < 8; ++j) sums[j] += a[i + j] * b[i + j];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

LaneRows directions_of(LaneRows rows) {
  for (std::size_t t = 0; t < rows.n(); ++t) {
    const float length = std::sqrt(dot(rows.row(t), rows.row(t)));
    for (float& x : rows.row(t)) x = length > 0 ? x / length : 0;
  }
  return rows;
}

std::vector<std::size_t> kept_tokens(const MergeLane& lane) {
  std::vector<std::size_t> kept;
  for (std::size_t t = 0; t < lane.n_tokens; ++t)
    if (lane.tiers[t] != kGone) kept.push_back(t);
  return kept;
}

}  // namespace satchel::kvcache
