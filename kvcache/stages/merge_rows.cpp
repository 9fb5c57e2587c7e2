#include "kvcache/stages/merge_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace satchel::kvcache {
namespace {

//   weights  [merged.size()], own [n_tokens]: of each carrier they sum to 1
void blend(std::span<const MergedInto> merged, std::span<const float> weights,
           std::span<const float> own, LaneRows& rows) {
  std::vector<bool> is_scaled(rows.n());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    const std::span<float> to = rows.row(merged[i].carrier);
    if (!is_scaled[merged[i].carrier])
      for (float& x : to) x *= own[merged[i].carrier];
    is_scaled[merged[i].carrier] = true;
    const std::span<const float> from = rows.row(merged[i].source);
    for (std::size_t c = 0; c < to.size(); ++c) to[c] += weights[i] * from[c];
  }
}

}  // namespace

Result<LaneRows> download_rows(kernels::Backend& backend, const Half* from, const MergeLane& lane) {
  std::vector<Half> halves(lane.n_tokens * lane.head_dim);
  SATCHEL_TRY(download(backend, halves, from));
  LaneRows rows{.head_dim = lane.head_dim, .x = std::vector<float>(halves.size())};
  for (std::size_t i = 0; i < halves.size(); ++i) rows.x[i] = half_to_float(halves[i]);
  return rows;
}

Result<void> upload_rows(kernels::Backend& backend, const LaneRows& rows, Half* to) {
  std::vector<Half> halves(rows.x.size());
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = float_to_half(rows.x[i]);
  return upload(backend, to, halves);
}

float dot(std::span<const float> a, std::span<const float> b) {
  std::array<float, 8> sums = {};
  for (std::size_t i = 0; i < a.size(); i += 8)
    for (std::size_t j = 0; j < 8; ++j) sums[j] += a[i + j] * b[i + j];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

float cosine(std::span<const float> a, std::span<const float> b) {
  const float lengths = std::sqrt(dot(a, a)) * std::sqrt(dot(b, b));
  return lengths > 0 ? std::min(dot(a, b) / lengths, 1.0f) : 0;
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

Result<void> merge_into(kernels::Backend& backend, const MergeLane& lane,
                        std::span<const MergedInto> merged, std::span<const float> own,
                        LaneRows& keys) {
  if (merged.empty()) return {};
  std::vector<float> sums(own.begin(), own.end()), n_alike(lane.n_tokens, 1), weights;
  for (const MergedInto& each : merged) {
    sums[each.carrier] += each.weight;
    ++n_alike[each.carrier];
    if (!lane.counts.empty()) lane.counts[each.carrier] += lane.counts[each.source];
  }
  const auto share = [&](float weight, std::size_t carrier) {
    return sums[carrier] > 0 ? weight / sums[carrier] : 1 / n_alike[carrier];
  };
  for (const MergedInto& each : merged) weights.push_back(share(each.weight, each.carrier));
  std::vector<float> own_budget(own.size());
  for (std::size_t t = 0; t < own.size(); ++t) own_budget[t] = share(own[t], t);
  SATCHEL_TRY_ASSIGN(LaneRows values, download_rows(backend, lane.v, lane));
  blend(merged, weights, own_budget, keys);
  blend(merged, weights, own_budget, values);
  SATCHEL_TRY(upload_rows(backend, keys, lane.k));
  return upload_rows(backend, values, lane.v);
}

}  // namespace satchel::kvcache
