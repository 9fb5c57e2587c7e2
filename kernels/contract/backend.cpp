#include "kernels/contract/backend.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/base/main_memory.h"
#include "kernels/contract/router_error.h"

namespace satchel::kernels {

AvailableMemory available_main_memory() {
  const std::size_t n_free = free_main_memory();
  return {.most = n_free, .usually = n_free / 4};
}

void WeightSource::check() const {
  const auto row = row_bytes(type, n_in);
  SATCHEL_ASSERT(row.has_value() && bytes.size() == *row * n_out);
}

void LaneQueries::check() const {
  SATCHEL_ASSERT(n_group > 0 && first_head + n_group <= n_heads);
  for (const PageView& page : keys.pages) SATCHEL_ASSERT(page.layout->head_dim == head_dim);
}

void ScoreArgs::check() const {
  lane.check();
  SATCHEL_ASSERT(heads == Heads::mean || queries == Queries::max);
  SATCHEL_ASSERT(of == Of::probability || (queries == Queries::sum &&
                                           lane.mask == AttentionMask::causal && lane.window == 0));
}

Error nan_among_logits(std::size_t index) {
  return Error{ErrorKind::internal, "LOGITS_NAN",
               "The model produced NaN for token " + std::to_string(index) +
                   ". The conversation is kept; the model file or the saved cache may be damaged."};
}

// As argmax() refuses it, but for tokens.
Error nan_of_router() {
  return Error{ErrorKind::internal, "LOGITS_NAN",
               "A layer's expert router produced NaN. The conversation is kept; the model file or "
               "the saved cache may be damaged."};
}

Result<void> Backend::add_row(float* x, const float* row, std::size_t n_rows, std::size_t width) {
  for (std::size_t r = 0; r < n_rows; ++r) SATCHEL_TRY(add(x + r * width, row, width));
  return {};
}

Result<void> Backend::scale_first(float* x, float factor, std::size_t n_rows, std::size_t width,
                                  std::size_t n_first) {
  SATCHEL_ASSERT(n_first <= width);
  for (std::size_t r = 0; r < n_rows; ++r) SATCHEL_TRY(scale(x + r * width, factor, n_first));
  return {};
}

Result<void> Backend::gate_rows(float* x, const float* gate, std::size_t n_rows,
                                std::size_t width) {
  std::vector<float> gates(n_rows);
  SATCHEL_TRY(
      download(std::as_writable_bytes(std::span(gates)), reinterpret_cast<const std::byte*>(gate)));
  for (std::size_t r = 0; r < n_rows; ++r)
    SATCHEL_TRY(scale(x + r * width, 1 / (1 + std::exp(-gates[r])), width));
  return {};
}

namespace {

// Of 0 to n_values: where a block ends that begins there.
std::size_t end_of_block(std::size_t first, std::size_t n_values) {
  return std::min(first + kPackedBlock, n_values);
}

// Bits of |x|, which rise with it; infinity and NaN are the largest.
std::uint32_t magnitude_bits(float x) {
  return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
}

float block_scale(const float* x, std::size_t first, std::size_t end) {
  std::uint32_t most = 0;
  for (std::size_t i = first; i < end; ++i) most = std::max(most, magnitude_bits(x[i]));
  const auto largest = std::bit_cast<float>(most);
  if (!std::isfinite(largest)) return std::numeric_limits<float>::quiet_NaN();
  const float scale = largest / 127;
  return scale < std::numeric_limits<float>::min() ? 0 : scale;
}

}  // namespace

// Adding 1.5 · 2^23 rounds to a whole number, which is then in the low bits.
Result<void> Backend::pack_values(const float* x, std::size_t n_values, std::byte* packed) {
  constexpr float kRounds = 12582912;
  auto* const scales = reinterpret_cast<float*>(packed);
  auto* const codes = reinterpret_cast<std::int8_t*>(scales + packed_blocks(n_values));
  for (std::size_t first = 0; first < n_values; first += kPackedBlock) {
    const std::size_t end = end_of_block(first, n_values);
    const float scale = scales[first / kPackedBlock] = block_scale(x, first, end);
    const float inverse = scale > 0 ? 1 / scale : 0;
    for (std::size_t i = first; i < end; ++i)
      codes[i] =
          inverse == 0
              ? std::int8_t{0}
              : static_cast<std::int8_t>(std::bit_cast<std::int32_t>(x[i] * inverse + kRounds));
  }
  return {};
}

Result<void> Backend::unpack_values(const std::byte* packed, std::size_t n_values, float* x) {
  const auto* const scales = reinterpret_cast<const float*>(packed);
  const auto* const codes = reinterpret_cast<const std::int8_t*>(scales + packed_blocks(n_values));
  for (std::size_t first = 0; first < n_values; first += kPackedBlock)
    for (std::size_t i = first; i < end_of_block(first, n_values); ++i)
      x[i] = static_cast<float>(codes[i]) * scales[first / kPackedBlock];
  return {};
}

Result<void> Backend::project(const float* x, std::size_t n_tokens,
                              std::span<const Projection> projections) {
  for (const Projection& each : projections) {
    SATCHEL_ASSERT(each.weight->n_in() == projections[0].weight->n_in());
    SATCHEL_TRY(matmul(*each.weight, x, n_tokens, each.out));
    if (each.bias != nullptr)
      SATCHEL_TRY(add_row(each.out, each.bias, n_tokens, each.weight->n_out()));
  }
  return {};
}

Result<void> Backend::norm_project(const float* x, const float* gain, std::size_t n_tokens,
                                   float epsilon, float* normed,
                                   std::span<const Projection> projections) {
  SATCHEL_ASSERT(!projections.empty());
  const std::size_t width = projections[0].weight->n_in();
  SATCHEL_TRY(rms_norm(x, gain, n_tokens, width, epsilon, normed));
  return project(normed, n_tokens, projections);
}

Result<void> Backend::add_projection(const float* from, std::size_t n_tokens,
                                     const Projection& projection, float* x) {
  SATCHEL_TRY(project(from, n_tokens, {&projection, 1}));
  return add(x, projection.out, n_tokens * projection.weight->n_out());
}

// `normed` is no longer needed when the product of `down` overwrites it.
Result<void> Backend::feed_forward(const FeedForward& args, float* x, std::size_t n_tokens) {
  const std::array<Projection, 2> projections = {
      {{.weight = args.gate, .out = args.gate_out}, {.weight = args.up, .out = args.up_out}}};
  SATCHEL_TRY(norm_project(x, args.gain, n_tokens, args.epsilon, args.normed, projections));
  const std::size_t width = args.down->n_out();
  SATCHEL_ASSERT(args.gate->n_out() == args.up->n_out() && width == args.gate->n_in());
  SATCHEL_TRY(glu(args.activation, args.gate_out, args.up_out, n_tokens * args.gate->n_out()));
  SATCHEL_TRY(matmul(*args.down, args.gate_out, n_tokens, args.normed));
  return add(x, args.normed, n_tokens * width);
}

namespace {

using Ranked = Backend::Ranked;

// Over all values where there are some, of which the ranked ones are the largest; else over these.
void softmax(std::span<Ranked> largest_first, std::span<const float> all) {
  const float most = largest_first[0].value;
  float sum = 0, sum_of_all = 0;
  for (Ranked& each : largest_first) sum += each.value = std::exp(each.value - most);
  for (const float value : all) sum_of_all += std::exp(value - most);
  for (Ranked& each : largest_first) each.value /= all.empty() ? sum : sum_of_all;
}

float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

// The weight of `expert` if a token chose it, else null.
const float* weight_of(std::size_t expert, std::span<const Ranked> chosen) {
  for (const Ranked& each : chosen)
    if (static_cast<std::size_t>(each.index) == expert) return &each.value;
  return nullptr;
}

// Chooses the experts with the largest router values, and computes their weights.
//   scores  the router's values in main memory, where the softmax is over all of them
Result<void> choose(Backend& backend, const float* routed, std::span<const float> scores,
                    const Backend::MixtureOfExperts& args, std::span<Ranked> chosen) {
  const Result<void> ranked = backend.top_k(routed, args.experts.size(), chosen);
  if (!ranked.ok() && ranked.error().code == "LOGITS_NAN")  // whose message is about tokens
    return nan_of_router();
  SATCHEL_TRY(ranked);
  softmax(chosen, scores);
  return {};
}

// The experts with the largest score and bias, largest first; of equal ones the lower number.
void rank(std::span<const float> scores, const Backend::MixtureOfExperts& args,
          std::span<Ranked> chosen) {
  const auto choice = [&](std::size_t expert) {
    return scores[expert] + (args.choice_biases.empty() ? 0.0f : args.choice_biases[expert]);
  };
  std::size_t n = 0;
  for (std::size_t expert = 0; expert < scores.size(); ++expert) {
    const Ranked now{static_cast<std::int32_t>(expert), choice(expert)};
    if (n == chosen.size() && !(now.value > chosen[n - 1].value)) continue;
    std::size_t at = n < chosen.size() ? n++ : n - 1;
    for (; at > 0 && now.value > chosen[at - 1].value; --at) chosen[at] = chosen[at - 1];
    chosen[at] = now;
  }
}

// The same by sigmoids; scores: the router's values.
Result<void> choose_by_sigmoid(std::span<float> scores, const Backend::MixtureOfExperts& args,
                               std::span<Ranked> chosen) {
  constexpr float kLeastSum = 1e-20f;  // as DeepSeek-V3 adds, arXiv:2412.19437
  for (float& score : scores) {
    score = sigmoid(score);
    if (std::isnan(score)) return nan_of_router();
  }
  rank(scores, args, chosen);
  float sum = 0;
  for (Ranked& each : chosen) sum += each.value = scores[static_cast<std::size_t>(each.index)];
  for (Ranked& each : chosen) each.value /= std::max(sum, kLeastSum);
  return {};
}

void multiply_by_factors(const Backend::MixtureOfExperts& args, std::span<Ranked> chosen) {
  if (args.expert_factors.empty()) return;
  for (Ranked& each : chosen)
    each.value *= args.expert_factors[static_cast<std::size_t>(each.index)];
}

// What the router and the experts read.
Result<void> route(Backend& backend, const Backend::MixtureOfExperts& args, const float* x,
                   std::size_t n_tokens) {
  const Backend::Projection router{args.router, args.routed, args.router_bias};
  const bool is_apart = args.router_gain != nullptr;
  SATCHEL_TRY(backend.norm_project(x, is_apart ? args.router_gain : args.gain, n_tokens,
                                   args.epsilon, args.normed, {&router, 1}));
  if (is_apart)
    SATCHEL_TRY(
        backend.rms_norm(x, args.gain, n_tokens, args.router->n_in(), args.epsilon, args.normed));
  const std::size_t n_experts = args.experts.size();
  const bool by_sigmoid = args.weighting == Backend::Weighting::sigmoid;
  const bool needs_all = args.weighting != Backend::Weighting::softmax;
  if (needs_all)
    SATCHEL_TRY(backend.download(std::as_writable_bytes(args.scores.first(n_tokens * n_experts)),
                                 reinterpret_cast<const std::byte*>(args.routed)));
  for (std::size_t t = 0; t < n_tokens; ++t) {
    const auto chosen = args.chosen.subspan(t * args.n_used, args.n_used);
    const auto scores =
        needs_all ? args.scores.subspan(t * n_experts, n_experts) : std::span<float>();
    SATCHEL_TRY(by_sigmoid ? choose_by_sigmoid(scores, args, chosen)
                           : choose(backend, args.routed + t * n_experts, scores, args, chosen));
    multiply_by_factors(args, chosen);
  }
  return {};
}

// The tokens that chose one expert, in order; calls see(i-th of them, token, weight).
template <class See>
Result<std::size_t> each_token_of(std::size_t expert, const Backend::MixtureOfExperts& args,
                                  std::size_t n_tokens, const See& see) {
  std::size_t n = 0;
  for (std::size_t t = 0; t < n_tokens; ++t) {
    const float* weight = weight_of(expert, args.chosen.subspan(t * args.n_used, args.n_used));
    if (weight != nullptr) SATCHEL_TRY(see(n++, t, *weight));
  }
  return n;
}

Result<void> copy_row(Backend& backend, const float* from, std::size_t n, float* to) {
  return backend.copy(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
                      n * sizeof(float));
}

// Whether `expert` is the first, in the order of numbers, that token t chose.
bool is_first_of(std::size_t expert, std::size_t t, const Backend::MixtureOfExperts& args) {
  const auto chosen = args.chosen.subspan(t * args.n_used, args.n_used);
  return std::ranges::none_of(
      chosen, [&](const Ranked& each) { return std::cmp_less(each.index, expert); });
}

// Replaces args.taken [n, width] by the output of the expert.
Result<void> run_expert(Backend& backend, const Backend::MixtureOfExperts& args,
                        const Backend::Expert& expert, std::size_t n) {
  const bool has_gate = expert.gate != nullptr;
  float* const up_out = has_gate ? args.up_out : args.gate_out;
  const std::array<Backend::Projection, 2> up = {
      {{expert.up, up_out, expert.up_bias}, {expert.gate, args.gate_out, expert.gate_bias}}};
  const Backend::Projection down{expert.down, args.taken, expert.down_bias};
  SATCHEL_TRY(backend.project(args.taken, n, std::span(up).first(has_gate ? 2 : 1)));
  SATCHEL_TRY(backend.glu(args.activation, args.gate_out, up_out, n * expert.up->n_out()));
  return backend.project(args.gate_out, n, {&down, 1});
}

}  // namespace

// Runs expert by expert, each on all the tokens that chose it.
Result<void> Backend::moe(const MixtureOfExperts& args, float* x, std::size_t n_tokens) {
  const std::size_t width = args.router->n_in(), n_experts = args.experts.size();
  SATCHEL_ASSERT(args.router->n_out() == n_experts && args.n_used > 0 && args.n_used <= n_experts);
  SATCHEL_ASSERT(args.chosen.size() >= n_tokens * args.n_used);
  SATCHEL_ASSERT(args.expert_factors.empty() || args.expert_factors.size() == n_experts);
  SATCHEL_ASSERT(args.choice_biases.empty() || args.choice_biases.size() == n_experts);
  SATCHEL_ASSERT(args.weighting == Weighting::softmax ||
                 args.scores.size() >= n_tokens * n_experts);
  SATCHEL_TRY(route(*this, args, x, n_tokens));
  for (std::size_t e = 0; e < n_experts; ++e) {
    const auto take = [&](std::size_t i, std::size_t t, float) {
      return copy_row(*this, args.normed + t * width, width, args.taken + i * width);
    };
    SATCHEL_TRY_ASSIGN(const std::size_t n, each_token_of(e, args, n_tokens, take));
    if (n == 0) continue;
    SATCHEL_TRY(run_expert(*this, args, args.experts[e], n));
    const auto give = [&](std::size_t i, std::size_t t, float weight) -> Result<void> {
      float* const row = args.taken + i * width;
      SATCHEL_TRY(scale(row, args.factor * weight, width));
      if (args.sum == nullptr) return add(x + t * width, row, width);
      if (is_first_of(e, t, args)) return copy_row(*this, row, width, args.sum + t * width);
      return add(args.sum + t * width, row, width);
    };
    SATCHEL_TRY(each_token_of(e, args, n_tokens, give));
  }
  return {};
}

}  // namespace satchel::kernels
