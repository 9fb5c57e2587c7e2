// Attention over one lane at a time, in float64: all visible keys gathered, softmax, weighted sum.
#include <cmath>
#include <vector>

#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::reference {
namespace {

// Every token a lane holds, decoded.
struct Tokens {
  std::vector<float> k, v;  // [n, head_dim]
  std::vector<std::int32_t> positions;
};

Result<Tokens> tokens_of(const LaneView& lane, std::size_t d) {
  Tokens all;
  for (const PageView& page : lane.pages) {
    const std::size_t at = all.k.size();
    all.k.resize(at + kPageTokens * d);
    all.v.resize(at + kPageTokens * d);
    SATCHEL_TRY(decode_page(*page.layout, page.bytes, &all.k[at], &all.v[at]));
    const auto* positions =
        reinterpret_cast<const std::int32_t*>(page.bytes + page.layout->positions_at);
    all.positions.insert(all.positions.end(), positions, positions + kPageTokens);
  }
  for (const ExactRun& run : lane.runs)
    for (std::size_t t = 0; t < run.n_tokens; ++t) {
      for (std::size_t c = 0; c < d; ++c) {
        all.k.push_back(half_to_float(run.k[t * d + c]));
        all.v.push_back(half_to_float(run.v[t * d + c]));
      }
      all.positions.push_back(run.positions[t]);
    }
  return all;
}

double dot(const float* a, const float* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// One query; returns the natural log of the sum of exp.
double attend_one(const Tokens& all, const float* q, std::int32_t position, const AttendArgs& args,
                  float* out) {
  const std::size_t d = args.head_dim, n = all.positions.size();
  std::vector<double> logits(n, -INFINITY), sums(d, 0.0);
  double top = -INFINITY, total = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (all.positions[j] > position) continue;
    logits[j] = dot(q, &all.k[j * d], d) * double{args.scale};
    top = std::fmax(top, logits[j]);
  }
  for (std::size_t j = 0; j < n && top > -INFINITY; ++j) {
    const double weight = std::exp(logits[j] - top);
    total += weight;
    for (std::size_t c = 0; c < d; ++c) sums[c] += weight * double{all.v[j * d + c]};
  }
  for (std::size_t c = 0; c < d; ++c)
    out[c] = total > 0 ? static_cast<float>(sums[c] / total) : 0.0f;
  return total > 0 ? top + std::log(total) : -INFINITY;
}

}  // namespace

Result<void> attend(const AttendArgs& args) {
  const std::size_t group = args.n_heads / args.lanes.size();
  for (std::size_t lane = 0; lane < args.lanes.size(); ++lane) {
    SATCHEL_TRY_ASSIGN(const Tokens all, tokens_of(args.lanes[lane], args.head_dim));
    for (std::size_t i = 0; i < args.n_tokens; ++i)
      for (std::size_t h = lane * group; h < (lane + 1) * group; ++h) {
        const std::size_t row = i * args.n_heads + h;
        const double lse = attend_one(all, args.q + row * args.head_dim, args.positions[i], args,
                                      args.out + row * args.head_dim);
        if (args.lse != nullptr) args.lse[row] = static_cast<float>(lse);
      }
  }
  return {};
}

Result<void> score(const ScoreArgs& args) {
  const std::size_t d = args.head_dim;
  std::vector<float> key(d);
  for (std::size_t j = 0; j < args.keys.n_tokens; ++j) {
    for (std::size_t c = 0; c < d; ++c) key[c] = half_to_float(args.keys.k[j * d + c]);
    double sum = 0;
    for (std::size_t i = 0; i < args.n_tokens; ++i) {
      if (args.keys.positions[j] > args.positions[i]) continue;
      for (std::size_t h = args.first_head; h < args.first_head + args.n_group; ++h) {
        const std::size_t row = i * args.n_heads + h;
        sum += std::exp(dot(args.q + row * d, key.data(), d) * double{args.scale} -
                        double{args.lse[row]});
      }
    }
    args.scores[j] += static_cast<float>(sum / static_cast<double>(args.n_group));
  }
  return {};
}

}  // namespace satchel::kernels::reference
