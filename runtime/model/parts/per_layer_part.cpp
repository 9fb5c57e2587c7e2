#include "runtime/model/parts/per_layer_part.h"

#include <cmath>
#include <numbers>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

constexpr float kHalfRoot = static_cast<float>(1 / std::numbers::sqrt2);

}  // namespace

void PerLayerTables::spec(const ModelConfig& config, std::vector<TensorSpec>& specs) {
  specs.push_back({.name = "per_layer_token_embd.weight",
                   .n_out = config.n_vocabulary * config.n_layers(),
                   .n_in = config.per_layer_width,
                   .matrix = &rows,
                   .is_table = true,
                   .rows_of_row = config.n_layers()});
  specs.push_back({.name = "per_layer_proj_norm.weight",
                   .n_in = config.per_layer_width,
                   .vector = &gain,
                   .factor = kHalfRoot});
}

void PerLayerPart::spec(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width, given = config_.per_layer_width;
  const TensorSpec all{
      .name = "per_layer_model_proj.weight", .n_out = given, .n_in = width, .matrix = &projection_};
  specs.push_back(part_of(all, layer_ * given, config_.n_layers() * given));
  specs.push_back(matrix("inp_gate.weight", given, width, gate_));
  specs.push_back(matrix("proj.weight", width, given, out_));
  specs.push_back(vector("post_norm.weight", width, gain_behind_));
}

Result<void> PerLayerPart::give(const LayerStep& step, const kernels::Weight& embedding,
                                const PerLayerTables& tables,
                                std::vector<std::int32_t>& rows) const {
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens, width = config_.per_layer_width;
  const auto n_layers = static_cast<std::int32_t>(config_.n_layers());
  SATCHEL_ASSERT(step.ids.size() == n);
  rows.clear();
  for (const std::int32_t id : step.ids)
    rows.push_back(id * n_layers + static_cast<std::int32_t>(layer_));
  SATCHEL_TRY(backend_.embed(embedding, step.ids, work.embedded));
  SATCHEL_TRY(backend_.matmul(*projection_, work.embedded, n, work.given));
  SATCHEL_TRY(
      backend_.rms_norm(work.given, tables.gain, n, width, config_.norm_epsilon, work.given));
  SATCHEL_TRY(backend_.embed(*tables.rows, rows, work.of_token));
  const float root = std::sqrt(static_cast<float>(width));
  SATCHEL_TRY(backend_.scale(work.of_token, root * kHalfRoot, n * width));
  return backend_.add(work.given, work.of_token, n * width);
}

Result<void> PerLayerPart::add(const LayerStep& step, const kernels::Weight& embedding,
                               const PerLayerTables& tables, std::vector<std::int32_t>& rows,
                               float* x) const {
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens;
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(give(step, embedding, tables, rows));
  SATCHEL_TRY(backend_.matmul(*gate_, x, n, work.per_layer_gate));
  SATCHEL_TRY(backend_.glu(style_.activation, work.per_layer_gate, work.given,
                           n * config_.per_layer_width));
  SATCHEL_TRY(backend_.matmul(*out_, work.per_layer_gate, n, work.normed));
  return add_to(step, x);
}

}  // namespace satchel::runtime
