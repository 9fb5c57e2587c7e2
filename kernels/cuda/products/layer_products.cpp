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
  return multiply({.x = x}, x, n_tokens);
}

Result<void> LayerProducts::norm_project(const float* x, const float* gain, std::size_t n_tokens,
                                         float epsilon, float* normed,
                                         std::span<const Projection> projections) {
  SATCHEL_ASSERT(!projections.empty());
  if (n_tokens == 0) return {};
  take(projections);
  if (!take_operands(n_tokens)) {
    const std::size_t width = projections[0].weight->n_in();
    SATCHEL_TRY(
        device_->check(rms_norm(device_->queue(), x, gain, n_tokens, width, epsilon, normed)));
  }
  return multiply({.x = x, .gain = gain, .epsilon = epsilon, .normed = normed}, normed, n_tokens);
}

Result<void> LayerProducts::add_projection(const float* from, std::size_t n_tokens,
                                           const Projection& projection, float* x) {
  if (n_tokens == 0) return {};
  take({&projection, 1});
  products_[0].out = x;
  products_[0].is_added = true;
  return multiply({.x = from}, from, n_tokens);
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
  if (!take_operands(n_tokens))
    SATCHEL_TRY(device_->check(glu(device_->queue(), args.activation, args.gate_out, args.up_out,
                                   n_tokens * args.gate->n_out())));
  return multiply({.x = args.gate_out, .up = args.up_out, .activation = args.activation},
                  args.gate_out, n_tokens);
}

void LayerProducts::take(std::span<const Projection> projections) {
  products_.clear();
  for (const Projection& each : projections) {
    SATCHEL_ASSERT(each.weight->n_in() == projections[0].weight->n_in());
    products_.push_back(
        {.weight = &CudaWeight::of(*each.weight).matrix(), .out = each.out, .bias = each.bias});
  }
}

bool LayerProducts::take_operands(std::size_t n_tokens) const {
  const bool are_halves = n_tokens > kDecodeTokens && products_[0].weight->takes_halves();
  return are_halves || std::ranges::any_of(
                           products_, [](const Product& each) { return each.weight->has_tiles(); });
}

Result<void> LayerProducts::multiply(const Activations& from, const float* x,
                                     std::size_t n_tokens) {
  ProductInput input{
      .x = x, .n_tokens = n_tokens, .n_multiprocessors = device_->n_multiprocessors()};
  if (take_operands(n_tokens)) {
    Queue& queue = device_->queue();
    const std::size_t n_in = products_[0].weight->n_in;
    if (n_tokens > kDecodeTokens) {
      const std::size_t n_bytes = plan_half_operands(nullptr, n_tokens, n_in).n_bytes;
      SATCHEL_TRY(device_->reserve(
          operands_, n_bytes + splits_bytes(products_, n_tokens, input.n_multiprocessors)));
      input.halves = plan_half_operands(operands_.data(), n_tokens, n_in).operands;
      input.splits = reinterpret_cast<float*>(operands_.data() + n_bytes);
      SATCHEL_TRY(device_->check(make_half_operands(queue, from, n_tokens, n_in, input.halves)));
    } else {
      SATCHEL_TRY(device_->reserve(operands_, plan_operands(nullptr, n_tokens, n_in).n_bytes));
      input.integers = plan_operands(operands_.data(), n_tokens, n_in).operands;
      SATCHEL_TRY(device_->check(make_operands(queue, from, n_tokens, n_in, input.integers)));
    }
  }
  return device_->check(cuda::multiply(device_->queue(), products_, input));
}

}  // namespace satchel::kernels::cuda
