#include "kernels/contract/backend.h"

#include <array>

#include "kernels/base/assert.h"

namespace satchel::kernels {

Result<void> Backend::norm_project(const float* x, const float* gain, std::size_t n_tokens,
                                   float epsilon, float* normed,
                                   std::span<const Projection> projections) {
  SATCHEL_ASSERT(!projections.empty());
  const std::size_t width = projections[0].weight->n_in();
  SATCHEL_TRY(rms_norm(x, gain, n_tokens, width, epsilon, normed));
  for (const Projection& projection : projections) {
    SATCHEL_ASSERT(projection.weight->n_in() == width);
    SATCHEL_TRY(matmul(*projection.weight, normed, n_tokens, projection.out));
  }
  return {};
}

// What `normed` held is done with when the product of `down` takes its place.
Result<void> Backend::feed_forward(const FeedForward& args, float* x, std::size_t n_tokens) {
  const std::array<Projection, 2> projections = {
      {{.weight = args.gate, .out = args.gate_out}, {.weight = args.up, .out = args.up_out}}};
  SATCHEL_TRY(norm_project(x, args.gain, n_tokens, args.epsilon, args.normed, projections));
  const std::size_t width = args.down->n_out();
  SATCHEL_ASSERT(args.gate->n_out() == args.up->n_out() && width == args.gate->n_in());
  SATCHEL_TRY(gated(args.activation, args.gate_out, args.up_out, n_tokens * args.gate->n_out()));
  SATCHEL_TRY(matmul(*args.down, args.gate_out, n_tokens, args.normed));
  return add(x, args.normed, n_tokens * width);
}

}  // namespace satchel::kernels
