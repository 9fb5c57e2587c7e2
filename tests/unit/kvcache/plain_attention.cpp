#include "plain_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "kvcache/shape/lane_limits.h"
#include "kvcache/shape/rope_pairs.h"

namespace satchel::kvcache {
namespace {

// The query as keys want it that stand `shift` positions behind where they were encoded.
std::vector<double> rotated_back(const float* q, const LayerShape& layer, std::int32_t shift) {
  std::vector<double> out(q, q + layer.head_dim);
  const std::size_t n = layer.inverse_frequency.size();
  for (std::size_t i = 0; i < n; ++i) {
    const bool adjacent = layer.rope_pairs == kernels::RopePairs::adjacent;
    double& x = out[adjacent ? 2 * i : i];
    double& y = out[adjacent ? 2 * i + 1 : i + n];
    const double angle = -static_cast<double>(shift) * layer.inverse_frequency[i];
    const double a = x, b = y;
    x = a * std::cos(angle) - b * std::sin(angle);
    y = a * std::sin(angle) + b * std::cos(angle);
  }
  return out;
}

// Tokens: of (position, DecodedToken), by position.
template <class Tokens>
Attended attend_over(const float* q, const LayerShape& layer, std::int32_t query_position,
                     const Tokens& lane) {
  Attended result;
  result.out.resize(layer.head_dim);
  double sum = 0, top = -std::numeric_limits<double>::infinity();
  struct Logit {
    std::int32_t position = 0;
    double logit = 0;
    const DecodedToken* token = nullptr;
  };
  std::vector<Logit> logits;
  const double scale = double{layer.attention_scale}, cap = double{layer.soft_cap};
  std::map<std::int32_t, std::vector<double>> rotated;
  for (const auto& [position, token] : lane) {
    if (position > query_position) continue;
    if (layer.window > 0 && position <= query_position - static_cast<std::int32_t>(layer.window))
      continue;
    auto query = rotated.find(token.shift);
    if (query == rotated.end())
      query = rotated.emplace(token.shift, rotated_back(q, layer, token.shift)).first;
    double dot = 0;
    for (std::size_t c = 0; c < layer.head_dim; ++c) dot += query->second[c] * double{token.k[c]};
    const double logit = cap > 0 ? cap * std::tanh(dot * scale / cap) : dot * scale;
    logits.push_back({position, logit + token.log_count, &token});
    top = std::max(top, logits.back().logit);
  }
  for (const Logit& of : logits) sum += std::exp(of.logit - top);
  result.lse = logits.empty() ? top : top + std::log(sum);
  for (const Logit& of : logits) {
    const double weight = std::exp(of.logit - result.lse);
    result.weights[of.position] += weight;
    for (std::size_t c = 0; c < layer.head_dim; ++c)
      result.out[c] += weight * double{of.token->v[c]};
  }
  return result;
}

// An exact key rotated by `by` positions, stored as fp16 again.
std::vector<float> rotated(std::vector<float> key, const LayerShape& layer, std::int32_t by) {
  rope_pairs(layer, static_cast<double>(by), std::span(key));
  for (float& x : key) x = half_to_float(float_to_half(x));
  return key;
}

// Tokens at one position are told apart by their values, or without these by their shifts.
std::vector<std::pair<std::int32_t, const DecodedToken*>> in_order(const SeenLane& lane) {
  std::vector<std::pair<std::int32_t, const DecodedToken*>> tokens;
  for (const auto& [position, token] : lane) tokens.emplace_back(position, &token);
  std::ranges::sort(tokens, {}, [](const auto& of) {
    return std::tie(of.first, of.second->v, of.second->shift);
  });
  return tokens;
}

// Two roundings to fp16 of values below 8.
constexpr float kRounding = 0.01F;

bool is_alike(const DecodedToken& a, const DecodedToken& b) {
  const auto is_near = [](float x, float y) { return std::abs(x - y) <= kRounding; };
  return a.v == b.v && a.shift == b.shift && a.log_count == b.log_count &&
         std::ranges::equal(a.k, b.k, is_near);
}

}  // namespace

std::size_t DecodedToken::bits() const {
  if (layout == nullptr || layout->k.is_exact()) return 16;
  return layout->k.is_affine() ? layout->k.at(kernels::PlaneKind::codes).bits : 4;
}

SeenLane in_reach(const DecodedLane& held, const Reach& reach, const LayerShape& layer) {
  SeenLane seen;
  for (const auto& [position, token] : held) {
    const std::optional<std::int32_t> moved = reach.moved(static_cast<std::size_t>(position));
    if (!moved) continue;
    DecodedToken there = token;
    const bool is_sink = static_cast<std::size_t>(position) < kSinkTokens;
    if (is_sink && !token.k.empty()) there.k = rotated(token.k, layer, *moved);
    if (is_sink && layer.is_latent) there.v = there.k;
    if (!is_sink) there.shift += *moved;
    seen.emplace(position + *moved, std::move(there));
  }
  return seen;
}

std::string difference(const SeenLane& a, const SeenLane& b) {
  const auto in_a = in_order(a), in_b = in_order(b);
  for (std::size_t i = 0; i < std::min(in_a.size(), in_b.size()); ++i) {
    const std::int32_t position = in_a[i].first;
    if (position != in_b[i].first || !is_alike(*in_a[i].second, *in_b[i].second))
      return "at " + std::to_string(position) + " (the other: " + std::to_string(in_b[i].first) +
             ")";
  }
  if (in_a.size() == in_b.size()) return {};
  return std::to_string(in_a.size()) + " tokens, and " + std::to_string(in_b.size());
}

Attended attend_plainly(const float* q, const LayerShape& layer, std::int32_t query_position,
                        const DecodedLane& lane) {
  return attend_over(q, layer, query_position, lane);
}
Attended attend_plainly(const float* q, const LayerShape& layer, std::int32_t query_position,
                        const SeenLane& lane) {
  return attend_over(q, layer, query_position, lane);
}

}  // namespace satchel::kvcache
