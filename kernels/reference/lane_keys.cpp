#include "kernels/reference/lane_keys.h"

#include <cmath>
#include <vector>

#include "kernels/contract/transform.h"
#include "kernels/reference/page_codec.h"

namespace satchel::kernels::reference {
namespace {

std::vector<float> keys_of(const LaneQueries& lane, const PageView& page) {
  std::vector<float> keys(page.n_tokens * lane.head_dim);
  decode_operand(*page.layout, Operand::k, page.bytes, page.n_tokens, keys.data());
  rotate_rows(lane.rope, page.shift, keys.data(), page.n_tokens, lane.head_dim);
  return keys;
}

}  // namespace

void for_each_key(const LaneQueries& lane, const std::function<void(const LaneKey&)>& body) {
  const std::size_t d = lane.head_dim;
  std::size_t slot = 0;
  for (const ExactRun& run : lane.keys.runs) {
    std::vector<float> key(d);
    for (std::size_t j = 0; j < run.n_tokens; ++j, ++slot) {
      for (std::size_t c = 0; c < d; ++c) key[c] = half_to_float(run.k[j * d + c]);
      body({.k = key.data(), .position = run.positions[j], .slot = slot});
    }
  }
  for (const PageView& page : lane.keys.pages) {
    const std::vector<float> keys = keys_of(lane, page);
    const auto* positions =
        reinterpret_cast<const std::int32_t*>(page.bytes + page.layout->positions_at);
    for (std::size_t j = 0; j < page.n_tokens; ++j, ++slot)
      if (page.live.has(j))
        body({.k = keys.data() + j * d, .position = positions[j] + page.shift, .slot = slot});
  }
}

bool can_attend(const LaneQueries& lane, std::int32_t query, std::int32_t key) {
  const auto back = std::int64_t{query} - std::int64_t{key};
  if (lane.mask == AttentionMask::band) return back == 0 || back == -1;
  if (lane.mask == AttentionMask::causal && back < 0) return false;
  return lane.window == 0 || back < static_cast<std::int64_t>(lane.window);
}

double logit(const LaneQueries& lane, std::size_t token, std::size_t head, const LaneKey& key) {
  const float* q = lane.q + (token * lane.n_heads + head) * lane.head_dim;
  double sum = 0;
  for (std::size_t c = 0; c < lane.head_dim; ++c)
    sum += static_cast<double>(q[c]) * static_cast<double>(key.k[c]);
  sum *= static_cast<double>(lane.scale);
  const auto cap = static_cast<double>(lane.soft_cap);
  return cap > 0 ? cap * std::tanh(sum / cap) : sum;
}

}  // namespace satchel::kernels::reference
