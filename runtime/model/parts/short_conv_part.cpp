#include "runtime/model/parts/short_conv_part.h"

namespace satchel::runtime {

using Projection = kernels::Backend::Projection;

void ShortConvPart::spec(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width;
  spec_of_norms("attn_norm.weight", "post_attention_norm.weight", specs);
  specs.push_back(matrix("shortconv.in_proj.weight", 3 * width, width, in_));
  specs.push_back(matrix("shortconv.out_proj.weight", width, width, out_));
  specs.push_back(vector("shortconv.conv.weight", sizes().conv_taps, taps_));
  specs.back().n_out = width;
}

Result<void> ShortConvPart::add(const LayerStep& step,
                                std::span<const kernels::StateSequence> sequences, float* x) const {
  const Workspace& work = step.work;
  SATCHEL_TRY(step.go_on());
  const Projection in{in_, work.conv_rows};
  SATCHEL_TRY(project(step, x, {&in, 1}));
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(backend_.short_conv({.rows = work.conv_rows,
                                   .taps = taps_,
                                   .width = config_.width,
                                   .n_taps = sizes().conv_taps,
                                   .sequences = sequences,
                                   .out = work.convolved}));
  return add_product(step, work.convolved, out_, nullptr, x);
}

}  // namespace satchel::runtime
