#include "kernels/cuda/experts/mixture.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/contract/router_error.h"
#include "kernels/cuda/device/workspace_layout.h"
#include "kernels/cuda/experts/expert_products.h"
#include "kernels/cuda/products/cuda_weight.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

// The workspace of a prompt; one that does not fit goes in several rounds. Chosen.
constexpr std::size_t kWorkBytesMost = std::size_t{128} << 20;

// How many tokens of a prompt are taken at once.
std::size_t tokens_at_once(const ExpertTable& table, std::size_t n_used) {
  const std::size_t inner = table.up.n_out, width = table.down.n_out;
  const std::size_t n_up = table.gates == nullptr ? 1 : 2;
  const std::size_t of_pair =
      std::max(n_up * inner, width) * sizeof(float) + inner * sizeof(std::uint16_t);
  const std::size_t most = kWorkBytesMost / (n_used * of_pair + width * sizeof(std::uint16_t));
  return std::max<std::size_t>(most / kPromptTokens, 1) * kPromptTokens;
}

// From token `first` on.
Backend::MixtureOfExperts behind(const Backend::MixtureOfExperts& args, std::size_t first) {
  const std::size_t width = args.router->n_in();
  Backend::MixtureOfExperts out = args;
  out.normed += first * width;
  out.routed += first * args.experts.size();
  if (out.sum != nullptr) out.sum += first * width;
  return out;
}

}  // namespace

// The table, and arrays of the workspace.
struct Mixture::Layer {
  const ExpertTable& table;
  unsigned n_experts, n_used, n_tokens, n_pairs = n_tokens * n_used;
  bool is_prompt = n_tokens > kUnitTokensMost;
  std::uint32_t* experts = nullptr;  // [n_pairs], likewise weights
  float* weights = nullptr;
  float *gate_out = nullptr, *up_out = nullptr, *down_out = nullptr;  // [n_pairs, n_out]
  ExpertUnit* units = nullptr;                                        // of few tokens
  Operands of_tokens = {}, of_pairs = {};  // likewise, where there are tiles
  ExpertLists lists = {};                  // of a prompt
  HalfOperands halves_of_tokens = {}, halves_of_pairs = {};

  bool has_gate() const { return table.gates != nullptr; }
  std::size_t place(std::byte* at) {
    WorkspaceLayout places(at);
    experts = places.take<std::uint32_t>(n_pairs);
    weights = places.take<float>(n_pairs);
    if (is_prompt)
      place_prompt(places);
    else
      place_few(places);
    return places.n_bytes();
  }

 private:
  std::size_t inner() const { return std::size_t{n_pairs} * table.up.n_out; }

  void place_few(WorkspaceLayout& places) {
    units = places.take<ExpertUnit>(n_pairs);
    gate_out = places.take<float>(inner());
    up_out = has_gate() ? places.take<float>(inner()) : gate_out;
    down_out = places.take<float>(std::size_t{n_pairs} * table.down.n_out);
    const auto take_operands = [&](const DeviceMatrix& of, std::size_t n) {
      if (!of.has_tiles()) return Operands{};
      const std::size_t n_bytes = plan_operands(nullptr, n, of.n_in).n_bytes;
      return plan_operands(places.take<std::byte>(n_bytes), n, of.n_in).operands;
    };
    of_tokens = take_operands(table.up, n_tokens);
    of_pairs = take_operands(table.down, n_pairs);
  }
  // What comes in front of `down` is no longer needed when operands have been made of it.
  void place_prompt(WorkspaceLayout& places) {
    const std::size_t n_up = has_gate() ? 2 : 1;
    lists = {
        .experts = experts,
        .n_tokens = n_tokens,
        .n_pairs = n_pairs,
        .n_experts = n_experts,
        .tokens_of_block = n_pairs > 24 * n_experts ? kPromptTokens : kFewTokensOfBlock};  // chosen
    lists.pairs = places.take<std::uint32_t>(std::size_t{n_experts} * n_tokens);
    lists.blocks = places.take<ExpertBlock>(lists.n_blocks());
    gate_out = down_out =
        places.take<float>(std::max(n_up * inner(), std::size_t{n_pairs} * table.down.n_out));
    up_out = has_gate() && gate_out != nullptr ? gate_out + inner() : gate_out;
    const auto take_halves = [&](const DeviceMatrix& of, std::size_t n) {
      const std::size_t n_bytes = plan_half_operands(nullptr, n, of.n_in).n_bytes;
      return plan_half_operands(places.take<std::byte>(n_bytes), n, of.n_in).operands;
    };
    halves_of_tokens = take_halves(table.up, n_tokens);
    halves_of_pairs = take_halves(table.down, n_pairs);
  }
};

Result<bool> Mixture::run(const Args& args, float* x, std::size_t n_tokens) {
  const std::size_t n_experts = args.experts.size(), width = args.router->n_in();
  SATCHEL_ASSERT(args.router->n_out() == n_experts && args.n_used > 0 && args.n_used <= n_experts);
  if (n_tokens == 0) return true;
  if (n_experts > kExpertsMost || args.n_used > kUsedMost) return false;
  SATCHEL_TRY_ASSIGN(const ExpertTable* table, tables_.of(args));
  if (table == nullptr) return false;
  SATCHEL_ASSERT(table->up.n_in == width && table->down.n_out == width &&
                 table->down.n_in == table->up.n_out);
  const bool is_prompt = n_tokens > kUnitTokensMost;
  if (is_prompt && !(table->up.takes_halves() && table->down.takes_halves())) return false;
  SATCHEL_TRY(device_->reserve(has_nan_, sizeof(unsigned)));
  std::size_t at_once = is_prompt ? tokens_at_once(*table, args.n_used) : n_tokens;
  // Smaller rounds where the card lacks room for large ones.
  while (at_once > kUnitTokensMost && !reserve(args, *table, std::min(at_once, n_tokens)).ok())
    at_once /= 2;
  if (is_prompt && at_once <= kUnitTokensMost) return false;
  for (std::size_t first = 0; first < n_tokens; first += at_once)
    SATCHEL_TRY(run_tokens(behind(args, first), *table, x + first * width,
                           std::min(at_once, n_tokens - first)));
  return true;
}

Mixture::Layer Mixture::layer_of(const Args& args, const ExpertTable& table, std::size_t n_tokens) {
  return {.table = table,
          .n_experts = static_cast<unsigned>(args.experts.size()),
          .n_used = static_cast<unsigned>(args.n_used),
          .n_tokens = static_cast<unsigned>(n_tokens)};
}

Result<void> Mixture::reserve(const Args& args, const ExpertTable& table, std::size_t n_tokens) {
  return device_->reserve(work_, layer_of(args, table, n_tokens).place(nullptr));
}

Result<void> Mixture::run_tokens(const Args& args, const ExpertTable& table, float* x,
                                 std::size_t n_tokens) {
  SATCHEL_TRY(reserve(args, table, n_tokens));
  Layer layer = layer_of(args, table, n_tokens);
  layer.place(work_.data());
  SATCHEL_TRY(layer.is_prompt ? make_halves(args, layer, x) : make_integers(args, layer, x));
  SATCHEL_TRY(choose(args, layer));
  SATCHEL_TRY(multiply(args, layer));
  return check(add_weighted(device_->queue(), {.rows = layer.down_out,
                                               .weights = layer.weights,
                                               .n_tokens = layer.n_tokens,
                                               .n_used = layer.n_used,
                                               .width = table.down.n_out,
                                               .x = args.sum == nullptr ? x : nullptr,
                                               .out = args.sum == nullptr ? x : args.sum}));
}

// The router's product, with a norm of its own or that of the experts.
Result<void> Mixture::route(const Args& args, const Layer& layer, const float* x) {
  const Backend::Projection router{args.router, args.routed, args.router_bias};
  return products_->norm_project(x, args.router_gain != nullptr ? args.router_gain : args.gain,
                                 layer.n_tokens, args.epsilon, args.normed, {&router, 1});
}

Result<void> Mixture::make_halves(const Args& args, const Layer& layer, const float* x) {
  SATCHEL_TRY(route(args, layer, x));
  return check(make_half_operands(
      device_->queue(), {.x = x, .gain = args.gain, .epsilon = args.epsilon, .normed = args.normed},
      layer.n_tokens, layer.table.up.n_in, layer.halves_of_tokens));
}

// What experts read; a router that reads the same takes it from there.
Result<void> Mixture::make_integers(const Args& args, const Layer& layer, const float* x) {
  Queue& queue = device_->queue();
  const std::size_t n = layer.n_tokens, width = layer.table.up.n_in;
  const bool is_apart = args.router_gain != nullptr, has_tiles = layer.table.up.has_tiles();
  if (is_apart || !has_tiles) SATCHEL_TRY(route(args, layer, x));
  if (!has_tiles)
    return is_apart ? check(rms_norm(queue, x, args.gain, n, width, args.epsilon, args.normed))
                    : Result<void>();
  SATCHEL_TRY(check(make_operands(
      queue, {.x = x, .gain = args.gain, .epsilon = args.epsilon, .normed = args.normed}, n, width,
      layer.of_tokens)));
  if (is_apart) return {};
  const Product router{.weight = &CudaWeight::of(*args.router).matrix(),
                       .out = args.routed,
                       .bias = args.router_bias};
  return check(cuda::multiply(queue, {&router, 1},
                              {.x = args.normed, .n_tokens = n, .integers = layer.of_tokens}));
}

Result<void> Mixture::choose(const Args& args, const Layer& layer) {
  const bool by_sigmoid = args.weighting == Backend::Weighting::sigmoid;
  has_run_ = true;
  SATCHEL_TRY(check(choose_experts(
      device_->queue(), {.routed = args.routed,
                         .n_tokens = layer.n_tokens,
                         .n_experts = layer.n_experts,
                         .n_used = layer.n_used,
                         .weighting = args.weighting,
                         .choice_biases = by_sigmoid ? layer.table.choice_biases : nullptr,
                         .factors = layer.table.factors,
                         .factor = args.factor,
                         .experts = layer.experts,
                         .weights = layer.weights,
                         .units = layer.units,
                         .has_nan = reinterpret_cast<unsigned*>(has_nan_.data())})));
  if (!layer.is_prompt) return {};
  return check(list_experts(device_->queue(), layer.lists));
}

// Of all pairs. Values are gated while operands are made, where a source does so
// (activation_sources.h), or in place.
Result<void> Mixture::multiply(const Args& args, const Layer& layer) {
  Queue& queue = device_->queue();
  const ExpertTable& table = layer.table;
  const std::array<ExpertProduct, 2> up = {
      {{table.ups, layer.up_out}, {table.gates, layer.gate_out}}};
  const auto ups = std::span(up).first(layer.has_gate() ? 2 : 1);
  const ExpertProduct down{table.downs, layer.down_out};
  if (layer.is_prompt)
    SATCHEL_TRY(check(multiply_prompt_experts(
        queue, table.up, ups, {layer.halves_of_tokens, layer.n_used, layer.lists})));
  else
    SATCHEL_TRY(check(multiply_experts(
        queue, table.up, ups,
        {args.normed, layer.of_tokens, layer.n_pairs, layer.n_used, layer.units})));

  const bool has_operands = layer.is_prompt || table.down.has_tiles();
  const bool is_fused =
      has_operands && args.activation != Activation::relu && args.activation != Activation::sigmoid;
  const std::size_t n = layer.n_pairs, n_in = table.down.n_in;
  if (!is_fused)
    SATCHEL_TRY(check(glu(queue, args.activation, layer.gate_out, layer.up_out, n * n_in)));
  const Activations gated{
      .x = layer.gate_out, .up = is_fused ? layer.up_out : nullptr, .activation = args.activation};
  if (layer.is_prompt) {
    SATCHEL_TRY(check(make_half_operands(queue, gated, n, n_in, layer.halves_of_pairs)));
    return check(multiply_prompt_experts(queue, table.down, {&down, 1},
                                         {layer.halves_of_pairs, 1, layer.lists}));
  }
  if (has_operands) SATCHEL_TRY(check(make_operands(queue, gated, n, n_in, layer.of_pairs)));
  return check(multiply_experts(queue, table.down, {&down, 1},
                                {layer.gate_out, layer.of_pairs, layer.n_pairs, 1, layer.units}));
}

Result<void> Mixture::check() {
  if (!has_run_) return {};
  unsigned n = 0;
  SATCHEL_TRY(device_->download(std::as_writable_bytes(std::span(&n, 1)), has_nan_.data()));
  has_run_ = false;
  if (n == 0) return {};
  const unsigned none = 0;
  SATCHEL_TRY(device_->upload(has_nan_.data(), std::as_bytes(std::span(&none, 1))));
  return nan_of_router();
}

}  // namespace satchel::kernels::cuda
