#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {
namespace {

std::string full_name(std::size_t block, const char* name) {
  return "blk." + std::to_string(block) + "." + name;
}

}  // namespace

TensorSpec LayerPart::matrix(const char* name, std::size_t n_out, std::size_t n_in,
                             const kernels::Weight*& to) const {
  return {.name = full_name(block_, name), .n_out = n_out, .n_in = n_in, .matrix = &to};
}

TensorSpec LayerPart::vector(const char* name, std::size_t n, const float*& to) const {
  return {.name = full_name(block_, name), .n_in = n, .vector = &to};
}

TensorSpec LayerPart::constant(float value, std::size_t n, const float*& to) {
  return {.name = {}, .n_in = n, .vector = &to, .constant = value};
}

TensorSpec LayerPart::known(const char* name) const {
  return {.name = full_name(block_, name)};
}

TensorSpec LayerPart::part_of(TensorSpec spec, std::size_t first_row, std::size_t n_rows) {
  spec.first_row = first_row;
  spec.n_rows = n_rows;
  return spec;
}

TensorSpec LayerPart::blocks_of(TensorSpec spec, std::size_t first_row, std::size_t block_rows,
                                std::size_t block_stride) {
  spec.block_rows = block_rows;
  spec.block_stride = block_stride;
  const std::size_t n_rows = spec.n_out / block_rows * block_stride;
  return part_of(std::move(spec), first_row, n_rows);
}

void LayerPart::spec_of_norms(const char* before, const char* behind,
                              std::vector<TensorSpec>& specs) {
  if (style_.has_norms_before) specs.push_back(vector(before, config_.width, gain_before_));
  if (style_.has_norms_behind) specs.push_back(vector(behind, config_.width, gain_behind_));
}

Result<void> LayerPart::project(const LayerStep& step, const float* x,
                                std::span<const kernels::Backend::Projection> projections) const {
  const std::size_t n = step.batch.n_tokens;
  if (gain_before_ == nullptr) return backend_.project(x, n, projections);
  return backend_.norm_project(x, gain_before_, n, config_.norm_epsilon, step.work.normed,
                               projections);
}

Result<void> LayerPart::add_product(const LayerStep& step, const float* from,
                                    const kernels::Weight* weight, const float* bias,
                                    float* x) const {
  const kernels::Backend::Projection out{weight, step.work.normed, bias};
  const std::size_t n = step.batch.n_tokens;
  SATCHEL_TRY(step.go_on());
  if (gain_behind_ == nullptr && config_.residual_scale == 1)
    return backend_.add_projection(from, n, out, x);
  SATCHEL_TRY(backend_.project(from, n, {&out, 1}));
  return add_to(step, x);
}

Result<void> LayerPart::add_to(const LayerStep& step, float* x) const {
  const std::size_t n = step.batch.n_tokens, width = config_.width;
  float* given = step.work.normed;
  if (gain_behind_ != nullptr)
    SATCHEL_TRY(backend_.rms_norm(given, gain_behind_, n, width, config_.norm_epsilon, given));
  if (config_.residual_scale != 1)
    SATCHEL_TRY(backend_.scale(given, config_.residual_scale, n * width));
  return backend_.add(x, given, n * width);
}

}  // namespace satchel::runtime
