// Attention in float64 over plainly decoded keys and values: what attend() must compute.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::reference {
namespace {

// All that one lane holds, decoded.
struct PlainLane {
  std::vector<float> k, v;  // [n, head_dim]
  std::vector<std::int32_t> positions;
};

void append_run(const ExactRun& run, std::size_t head_dim, PlainLane& lane) {
  for (std::size_t i = 0; i < run.n_tokens * head_dim; ++i) {
    lane.k.push_back(half_to_float(run.k[i]));
    lane.v.push_back(half_to_float(run.v[i]));
  }
  lane.positions.insert(lane.positions.end(), run.positions, run.positions + run.n_tokens);
}

Result<void> append_page(const PageView& page, std::size_t head_dim, PlainLane& lane) {
  SATCHEL_ASSERT(page.layout->head_dim == head_dim);
  const std::size_t values = kPageTokens * head_dim;
  lane.k.resize(lane.k.size() + values);
  lane.v.resize(lane.v.size() + values);
  SATCHEL_TRY(decode_page(*page.layout, page.bytes, lane.k.data() + lane.k.size() - values,
                          lane.v.data() + lane.v.size() - values));
  const auto* positions =
      reinterpret_cast<const std::int32_t*>(page.bytes + page.layout->positions_at);
  lane.positions.insert(lane.positions.end(), positions, positions + kPageTokens);
  return {};
}

double dot(const float* a, const float* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

struct Query {
  const float* q;  // [head_dim]
  std::size_t head_dim;
  std::int32_t position;
  double scale;
};

// Writes the head's output, returns its log-sum-exp. `logits` is scratch.
double attend_one(const Query& query, const PlainLane& lane, std::vector<double>& logits,
                  float* out) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  double largest = kNone;
  logits.assign(lane.positions.size(), kNone);
  for (std::size_t t = 0; t < logits.size(); ++t) {
    if (lane.positions[t] > query.position) continue;
    logits[t] = dot(query.q, lane.k.data() + t * query.head_dim, query.head_dim) * query.scale;
    largest = std::max(largest, logits[t]);
  }
  std::fill(out, out + query.head_dim, 0.0f);
  if (largest == kNone) return kNone;
  double total = 0;
  std::vector<double> sum(query.head_dim, 0.0);
  for (std::size_t t = 0; t < logits.size(); ++t) {
    const double weight = std::exp(logits[t] - largest);
    if (weight == 0) continue;  // an invisible token adds nothing, whatever it holds
    total += weight;
    for (std::size_t c = 0; c < query.head_dim; ++c)
      sum[c] += weight * static_cast<double>(lane.v[t * query.head_dim + c]);
  }
  for (std::size_t c = 0; c < query.head_dim; ++c) out[c] = static_cast<float>(sum[c] / total);
  return largest + std::log(total);
}

}  // namespace

Result<void> attend(const AttendArgs& args) {
  SATCHEL_ASSERT(args.positions.size() == args.n_tokens);
  SATCHEL_ASSERT(!args.lanes.empty() && args.n_heads % args.lanes.size() == 0);
  const std::size_t n_group = args.n_heads / args.lanes.size();
  std::vector<double> logits;
  for (std::size_t l = 0; l < args.lanes.size(); ++l) {
    PlainLane lane;
    for (const ExactRun& run : args.lanes[l].runs) append_run(run, args.head_dim, lane);
    for (const PageView& page : args.lanes[l].pages)
      SATCHEL_TRY(append_page(page, args.head_dim, lane));
    for (std::size_t i = 0; i < args.n_tokens; ++i) {
      for (std::size_t h = l * n_group; h < (l + 1) * n_group; ++h) {
        const std::size_t row = i * args.n_heads + h;
        const double lse = attend_one({.q = args.q + row * args.head_dim,
                                       .head_dim = args.head_dim,
                                       .position = args.positions[i],
                                       .scale = static_cast<double>(args.scale)},
                                      lane, logits, args.out + row * args.head_dim);
        if (args.lse != nullptr) args.lse[row] = static_cast<float>(lse);
      }
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
