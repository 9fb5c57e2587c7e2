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

// The table, and arrays of the workspace.
struct Mixture::Layer {
  const ExpertTable& table;
  std::size_t n_tokens, n_pairs;
  std::uint32_t* experts = nullptr;  // [n_pairs], likewise weights, units
  float* weights = nullptr;
  ExpertUnit* units = nullptr;
  float *gate_out = nullptr, *up_out = nullptr, *down_out = nullptr;  // [n_pairs, n_out]
  Operands of_tokens = {}, of_pairs = {};                             // where there are tiles

  bool has_gate() const { return table.gates != nullptr; }
  std::size_t place(std::byte* at) {
    WorkspaceLayout places(at);
    experts = places.take<std::uint32_t>(n_pairs);
    weights = places.take<float>(n_pairs);
    units = places.take<ExpertUnit>(n_pairs);
    gate_out = places.take<float>(n_pairs * table.up.n_out);
    up_out = has_gate() ? places.take<float>(n_pairs * table.up.n_out) : gate_out;
    down_out = places.take<float>(n_pairs * table.down.n_out);
    const auto take_operands = [&](const DeviceMatrix& of, std::size_t n) {
      if (!of.has_tiles()) return Operands{};
      const std::size_t n_bytes = plan_operands(nullptr, n, of.n_in).n_bytes;
      return plan_operands(places.take<std::byte>(n_bytes), n, of.n_in).operands;
    };
    of_tokens = take_operands(table.up, n_tokens);
    of_pairs = take_operands(table.down, n_pairs);
    return places.n_bytes();
  }
};

Result<bool> Mixture::run(const Args& args, float* x, std::size_t n_tokens) {
  const std::size_t n_experts = args.experts.size(), width = args.router->n_in();
  SATCHEL_ASSERT(args.router->n_out() == n_experts && args.n_used > 0 && args.n_used <= n_experts);
  if (n_tokens == 0) return true;
  if (n_tokens > kUnitTokensMost || n_experts > kExpertsMost || args.n_used > kUsedMost)
    return false;
  SATCHEL_TRY_ASSIGN(const ExpertTable* table, tables_.of(args));
  if (table == nullptr) return false;
  SATCHEL_ASSERT(table->up.n_in == width && table->down.n_out == width &&
                 table->down.n_in == table->up.n_out);
  SATCHEL_TRY(device_->reserve(has_nan_, sizeof(unsigned)));
  Layer layer{.table = *table, .n_tokens = n_tokens, .n_pairs = n_tokens * args.n_used};
  SATCHEL_TRY(device_->reserve(work_, layer.place(nullptr)));
  layer.place(work_.data());
  SATCHEL_TRY(route(args, layer, x));
  SATCHEL_TRY(multiply(args, layer));
  SATCHEL_TRY(check(add_weighted(device_->queue(), {.rows = layer.down_out,
                                                    .weights = layer.weights,
                                                    .n_tokens = static_cast<unsigned>(n_tokens),
                                                    .n_used = static_cast<unsigned>(args.n_used),
                                                    .width = static_cast<unsigned>(width),
                                                    .x = args.sum == nullptr ? x : nullptr,
                                                    .out = args.sum == nullptr ? x : args.sum})));
  return true;
}

// What experts read, and who is chosen. The router reads the same norm, or has one of its own.
Result<void> Mixture::route(const Args& args, const Layer& layer, const float* x) {
  Queue& queue = device_->queue();
  const std::size_t n = layer.n_tokens, width = args.router->n_in();
  const bool is_apart = args.router_gain != nullptr, has_tiles = layer.table.up.has_tiles();
  const Activations normed{
      .x = x, .gain = args.gain, .epsilon = args.epsilon, .normed = args.normed};
  const Backend::Projection router{args.router, args.routed, args.router_bias};
  if (is_apart || !has_tiles)
    SATCHEL_TRY(products_->norm_project(x, is_apart ? args.router_gain : args.gain, n, args.epsilon,
                                        args.normed, {&router, 1}));
  if (has_tiles)
    SATCHEL_TRY(check(make_operands(queue, normed, n, width, layer.of_tokens)));
  else if (is_apart)
    SATCHEL_TRY(check(rms_norm(queue, x, args.gain, n, width, args.epsilon, args.normed)));
  if (!is_apart && has_tiles) {
    const Product product{.weight = &CudaWeight::of(*args.router).matrix(),
                          .out = args.routed,
                          .bias = args.router_bias};
    SATCHEL_TRY(check(cuda::multiply(
        queue, {&product, 1}, {.x = args.normed, .n_tokens = n, .integers = layer.of_tokens})));
  }
  const bool by_sigmoid = args.weighting == Backend::Weighting::sigmoid;
  has_run_ = true;
  return check(
      choose_experts(queue, {.routed = args.routed,
                             .n_tokens = static_cast<unsigned>(n),
                             .n_experts = static_cast<unsigned>(args.experts.size()),
                             .n_used = static_cast<unsigned>(args.n_used),
                             .weighting = args.weighting,
                             .choice_biases = by_sigmoid ? layer.table.choice_biases : nullptr,
                             .factors = layer.table.factors,
                             .factor = args.factor,
                             .experts = layer.experts,
                             .weights = layer.weights,
                             .units = layer.units,
                             .has_nan = reinterpret_cast<unsigned*>(has_nan_.data())}));
}

// Of all pairs. Values are gated while operands are made, where a source does so
// (activation_sources.h), or in place.
Result<void> Mixture::multiply(const Args& args, const Layer& layer) {
  Queue& queue = device_->queue();
  const ExpertTable& table = layer.table;
  const std::array<ExpertProduct, 2> up = {
      {{table.ups, layer.up_out}, {table.gates, layer.gate_out}}};
  const ExpertProduct down{table.downs, layer.down_out};
  const auto n_pairs = static_cast<unsigned>(layer.n_pairs);
  SATCHEL_TRY(check(multiply_experts(queue, table.up, std::span(up).first(layer.has_gate() ? 2 : 1),
                                     {.x = args.normed,
                                      .integers = layer.of_tokens,
                                      .n_pairs = n_pairs,
                                      .pairs_of_row = static_cast<unsigned>(args.n_used),
                                      .units = layer.units})));
  const bool is_fused = table.down.has_tiles() && args.activation != Activation::relu &&
                        args.activation != Activation::sigmoid;
  if (!is_fused)
    SATCHEL_TRY(check(
        glu(queue, args.activation, layer.gate_out, layer.up_out, layer.n_pairs * table.up.n_out)));
  if (table.down.has_tiles()) {
    const Activations gated{.x = layer.gate_out,
                            .up = is_fused ? layer.up_out : nullptr,
                            .activation = args.activation};
    SATCHEL_TRY(check(make_operands(queue, gated, layer.n_pairs, table.down.n_in, layer.of_pairs)));
  }
  return check(multiply_experts(
      queue, table.down, {&down, 1},
      {.x = layer.gate_out, .integers = layer.of_pairs, .n_pairs = n_pairs, .units = layer.units}));
}

Result<void> Mixture::check() {
  if (!std::exchange(has_run_, false)) return {};
  unsigned n = 0;
  SATCHEL_TRY(device_->download(std::as_writable_bytes(std::span(&n, 1)), has_nan_.data()));
  if (n == 0) return {};
  const unsigned none = 0;
  SATCHEL_TRY(device_->upload(has_nan_.data(), std::as_bytes(std::span(&none, 1))));
  return nan_of_router();
}

}  // namespace satchel::kernels::cuda
