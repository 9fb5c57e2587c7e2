// Attention in float64 over plainly decoded keys and values: what attend() must compute.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/contract/host_lane_table.h"
#include "kernels/reference/backend_reference.h"
#include "kernels/reference/page_codec.h"

namespace satchel::kernels::reference {
namespace {

// The live tokens of one lane, decoded.
struct PlainLane {
  struct Token {
    std::int64_t position = 0;  // its page's shift included
    std::int32_t shift = 0;
    double log_count = 0;
  };
  std::vector<Token> tokens;
  std::vector<float> k, v;  // [n, head_dim]
};

void append_run(const ExactRun& run, std::size_t head_dim, PlainLane& lane) {
  for (std::size_t i = 0; i < run.n_tokens * head_dim; ++i) {
    lane.k.push_back(half_to_float(run.k[i]));
    lane.v.push_back(half_to_float(run.v[i]));
  }
  for (std::size_t t = 0; t < run.n_tokens; ++t)
    lane.tokens.push_back({.position = run.positions[t]});
}

void append_page(const PageView& page, std::size_t head_dim, PlainLane& lane) {
  const PageLayout& layout = *page.layout;
  SATCHEL_ASSERT(layout.head_dim == head_dim && page.n_tokens <= layout.capacity);
  std::vector<float> k(page.n_tokens * head_dim), v(k.size());
  decode_operand(layout, Operand::k, page.bytes, page.n_tokens, k.data());
  decode_operand(layout, Operand::v, page.bytes, page.n_tokens, v.data());
  const auto* positions = reinterpret_cast<const std::int32_t*>(page.bytes + layout.positions_at);
  const auto* counts = reinterpret_cast<const float*>(page.bytes + layout.log_counts_at);
  for (std::size_t t = 0; t < page.n_tokens; ++t) {
    if (!page.live.has(t)) continue;
    lane.tokens.push_back(
        {.position = std::int64_t{positions[t]} + page.shift,
         .shift = page.shift,
         .log_count = layout.log_counts_at == 0 ? 0 : static_cast<double>(counts[t])});
    lane.k.insert(lane.k.end(), k.data() + t * head_dim, k.data() + (t + 1) * head_dim);
    lane.v.insert(lane.v.end(), v.data() + t * head_dim, v.data() + (t + 1) * head_dim);
  }
}

PlainLane read_lane(const LaneView& view, std::size_t head_dim) {
  PlainLane lane;
  for (const ExactRun& run : view.runs) append_run(run, head_dim, lane);
  for (const PageView& page : view.pages) append_page(page, head_dim, lane);
  return lane;
}

// The query for keys that stand `shift` positions behind where they were encoded.
std::vector<double> rotated_back(const float* q, const AttendArgs& args, std::int32_t shift) {
  std::vector<double> out(q, q + args.head_dim);
  if (shift == 0) return out;
  const std::span<const double> frequency = args.rope.inverse_frequency;
  SATCHEL_ASSERT(2 * frequency.size() <= args.head_dim);  // none: a layer without RoPE
  const bool adjacent = args.rope.pairs == RopePairs::adjacent;
  for (std::size_t i = 0; i < frequency.size(); ++i) {
    double& first = out[adjacent ? 2 * i : i];
    double& second = out[adjacent ? 2 * i + 1 : i + frequency.size()];
    const double phase = -static_cast<double>(shift) * frequency[i], a = first, b = second;
    first = a * std::cos(phase) - b * std::sin(phase);
    second = a * std::sin(phase) + b * std::cos(phase);
  }
  return out;
}

double dot(const std::vector<double>& a, const float* b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * static_cast<double>(b[i]);
  return sum;
}

bool can_attend(const AttendArgs& args, std::int32_t position, const PlainLane::Token& token) {
  if (token.position > position) return false;
  return args.window == 0 || token.position > position - static_cast<std::int64_t>(args.window);
}

// One query row against a lane. attend() writes its output and returns its logsumexp.
class OneQuery {
 public:
  OneQuery(const AttendArgs& args, std::size_t token, std::size_t head)
      : args_(args),
        row_(token * args.n_heads + head),
        position_(args.batch.positions[token]),
        logits_() {}

  double attend(const PlainLane& lane) {
    find_logits(lane);
    float* out = args_.out + row_ * args_.head_dim;
    std::fill(out, out + args_.head_dim, 0.0f);
    const double sink = sink_logit();
    const auto largest = std::max_element(logits_.begin(), logits_.end());
    const double offset = largest == logits_.end() ? sink : std::max(*largest, sink);  // or NaN
    if (offset == kNone) return kNone;
    double total = std::exp(sink - offset);
    std::vector<double> sum(args_.head_dim, 0.0);
    for (std::size_t t = 0; t < logits_.size(); ++t) {
      const double weight = std::exp(logits_[t] - offset);
      if (weight == 0) continue;  // so that a masked token adds nothing, NaN included
      total += weight;
      for (std::size_t c = 0; c < sum.size(); ++c)
        sum[c] += weight * static_cast<double>(lane.v[t * sum.size() + c]);
    }
    for (std::size_t c = 0; c < sum.size(); ++c) out[c] = static_cast<float>(sum[c] / total);
    return offset + std::log(total);
  }
  std::size_t row() const { return row_; }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  double sink_logit() const {
    if (args_.sink_logits.empty()) return kNone;
    return static_cast<double>(args_.sink_logits[row_ % args_.n_heads]);
  }

  void find_logits(const PlainLane& lane) {
    const float* q = args_.q + row_ * args_.head_dim;
    const auto scale = static_cast<double>(args_.scale), cap = static_cast<double>(args_.soft_cap);
    std::int32_t shift = 0;
    std::vector<double> rotated = rotated_back(q, args_, shift);
    logits_.assign(lane.tokens.size(), kNone);
    for (std::size_t t = 0; t < logits_.size(); ++t) {
      const PlainLane::Token& token = lane.tokens[t];
      if (!can_attend(args_, position_, token)) continue;
      if (token.shift != shift) rotated = rotated_back(q, args_, shift = token.shift);
      const double logit = dot(rotated, lane.k.data() + t * args_.head_dim) * scale;
      logits_[t] = (cap == 0 ? logit : cap * std::tanh(logit / cap)) + token.log_count;
    }
  }

  const AttendArgs& args_;
  const std::size_t row_;
  const std::int32_t position_;
  std::vector<double> logits_;
};

}  // namespace

Result<void> ReferenceBackend::attend(const AttendArgs& args) {
  SATCHEL_ASSERT(args.n_kv_heads > 0 && args.n_heads % args.n_kv_heads == 0);
  SATCHEL_ASSERT(args.sink_logits.empty() || args.sink_logits.size() == args.n_heads);
  const std::size_t n_group = args.n_heads / args.n_kv_heads;
  for (const Sequence& sequence : args.sequences) {
    const HostLaneTable& lanes = HostLaneTable::of(*sequence.lanes);
    for (std::size_t l = 0; l < args.n_kv_heads && sequence.n_tokens > 0; ++l) {
      const PlainLane lane = read_lane(lanes.lane(sequence.first_lane + l), args.head_dim);
      for (std::size_t i = 0; i < sequence.n_tokens * n_group; ++i) {
        OneQuery query(args, sequence.first_token + i / n_group, l * n_group + i % n_group);
        const double lse = query.attend(lane);
        if (args.lse != nullptr) args.lse[query.row()] = static_cast<float>(lse);
      }
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
