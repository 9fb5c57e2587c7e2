#include "kernels/cuda/products/layer_products.h"

#include <algorithm>
#include <array>

#include "kernels/base/assert.h"
#include "kernels/cuda/products/cuda_weight.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {

Result<void> LayerProducts::project(const float* x, std::size_t n_tokens,
                                    std::span<const Projection> projections) {
  if (n_tokens == 0 || projections.empty()) return {};
  take(projections);
  SATCHEL_TRY_ASSIGN(const Operands operands, operands_of({.x = x}, n_tokens));
  return multiply(x, operands, n_tokens);
}

Result<void> LayerProducts::norm_project(const float* x, const float* gain, std::size_t n_tokens,
                                         float epsilon, float* normed,
                                         std::span<const Projection> projections) {
  SATCHEL_ASSERT(!projections.empty());
  if (n_tokens == 0) return {};
  take(projections);
  if (!takes_operands()) {
    const std::size_t width = projections[0].weight->n_in();
    SATCHEL_TRY(
        device_->check(rms_norm(device_->queue(), x, gain, n_tokens, width, epsilon, normed)));
    return multiply(normed, {}, n_tokens);
  }
  SATCHEL_TRY_ASSIGN(
      const Operands operands,
      operands_of({.x = x, .gain = gain, .epsilon = epsilon, .normed = normed}, n_tokens));
  return multiply(normed, operands, n_tokens);
}

Result<void> LayerProducts::add_projection(const float* from, std::size_t n_tokens,
                                           const Projection& projection, float* x) {
  if (n_tokens == 0) return {};
  take({&projection, 1});
  products_[0].out = x;
  products_[0].is_added = true;
  SATCHEL_TRY_ASSIGN(const Operands operands, operands_of({.x = from}, n_tokens));
  return multiply(from, operands, n_tokens);
}

// Only `down` needs the gated values: they are computed while its operands are made, or in place of
// the gate.
Result<void> LayerProducts::feed_forward(const Backend::FeedForward& args, float* x,
                                         std::size_t n_tokens) {
  const std::array<Projection, 2> up = {
      {{.weight = args.gate, .out = args.gate_out}, {.weight = args.up, .out = args.up_out}}};
  SATCHEL_ASSERT(args.gate->n_out() == args.up->n_out() && args.down->n_out() == args.gate->n_in());
  SATCHEL_TRY(norm_project(x, args.gain, n_tokens, args.epsilon, args.normed, up));
  if (n_tokens == 0) return {};
  const Product down{.weight = &CudaWeight::of(*args.down).matrix(), .out = x, .is_added = true};
  products_.assign(1, down);
  if (!takes_operands())
    SATCHEL_TRY(device_->check(glu(device_->queue(), args.activation, args.gate_out, args.up_out,
                                   n_tokens * args.gate->n_out())));
  SATCHEL_TRY_ASSIGN(
      const Operands operands,
      operands_of({.x = args.gate_out, .up = args.up_out, .activation = args.activation},
                  n_tokens));
  return multiply(args.gate_out, operands, n_tokens);
}

void LayerProducts::take(std::span<const Projection> projections) {
  products_.clear();
  for (const Projection& each : projections) {
    SATCHEL_ASSERT(each.weight->n_in() == projections[0].weight->n_in());
    products_.push_back(
        {.weight = &CudaWeight::of(*each.weight).matrix(), .out = each.out, .bias = each.bias});
  }
}

bool LayerProducts::takes_operands() const {
  return std::ranges::any_of(products_,
                             [](const Product& each) { return each.weight->has_tiles(); });
}

Result<Operands> LayerProducts::operands_of(const Activations& from, std::size_t n_tokens) {
  if (!takes_operands()) return Operands();
  const std::size_t n_in = products_[0].weight->n_in;
  const std::size_t n_bytes = plan_operands(nullptr, n_tokens, n_in).n_bytes;
  SATCHEL_TRY(device_->reserve(operands_, n_bytes));
  const Operands operands = plan_operands(operands_.data(), n_tokens, n_in).operands;
  SATCHEL_TRY(device_->check(make_operands(device_->queue(), from, n_tokens, n_in, operands)));
  return operands;
}

Result<void> LayerProducts::multiply(const float* x, const Operands& operands,
                                     std::size_t n_tokens) {
  return device_->check(cuda::multiply(device_->queue(), products_, x, operands, n_tokens));
}

}  // namespace satchel::kernels::cuda
