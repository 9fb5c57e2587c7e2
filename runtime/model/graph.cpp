#include "runtime/model/graph.h"

#include "kernels/base/assert.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {

Result<void> LayerStep::go_on() const {
  if (!stop.stop_requested()) return {};
  return Error{ErrorKind::cancelled, "STOPPED", "Stopped while reading."};
}

Result<void> Graph::recur(const LayerStep&, std::span<const kernels::StateSequence>, float*) {
  SATCHEL_ASSERT(false);  // whoever reads a config with such layers overrides it
  return {};
}

void Graph::spec_of_ends(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width, n_vocabulary = config_.n_vocabulary;
  specs.push_back(
      {.name = "token_embd.weight", .n_out = n_vocabulary, .n_in = width, .matrix = &embedding_});
  specs.push_back({.name = std::string(output_norm()), .n_in = width, .vector = &output_gain_});
  specs.push_back({.name = "output.weight",
                   .n_out = n_vocabulary,
                   .n_in = width,
                   .matrix = &output_,
                   .is_optional = true});
  for (const char* name : kRopeTensors) specs.push_back({.name = name, .is_optional = true});
}

Result<void> Graph::embed(std::span<const std::int32_t> ids, float* x) {
  SATCHEL_TRY(backend_.embed(*embedding_, ids, x));
  if (config_.embedding_scale == 1) return {};
  return backend_.scale(x, config_.embedding_scale, ids.size() * config_.width);
}

Result<void> Graph::rotate(const LayerStep& step, Project what) {
  const kvcache::LayerShape& shape = layer(step).attention;
  if (shape.n_rotated() == 0) return {};
  SATCHEL_TRY(step.go_on());
  return backend_.rope({.q = step.work.q,
                        .k = what == Project::queries ? nullptr : step.work.k,
                        .n_tokens = step.batch.n_tokens,
                        .n_heads = shape.n_heads,
                        .n_kv_heads = shape.n_kv_heads,
                        .head_dim = shape.head_dim,
                        .rotation = step.rotation,
                        .n_rotated = shape.n_rotated(),
                        .pairs = shape.rope_pairs});
}

Result<void> Graph::attend(const LayerStep& step, std::span<const kernels::Sequence> sequences,
                           Lse lse) {
  SATCHEL_TRY(step.go_on());
  kernels::AttendArgs args = layer(step).attention.attend_args();
  args.q = step.work.q;
  args.batch = step.batch;
  args.sequences = sequences;
  args.out = step.work.attended;
  args.lse = lse == Lse::wanted ? step.work.lse : nullptr;
  return backend_.attend(args);
}

Result<void> Graph::final_norm(const float* x, std::size_t n_tokens, float* out) {
  return backend_.rms_norm(x, output_gain_, n_tokens, config_.width, config_.norm_epsilon, out);
}

Result<void> Graph::logits(const float* normed, std::size_t n_tokens, float* out) {
  const std::size_t n_values = n_tokens * config_.n_vocabulary;
  SATCHEL_TRY(backend_.matmul(output_ == nullptr ? *embedding_ : *output_, normed, n_tokens, out));
  if (config_.logit_scale != 1) SATCHEL_TRY(backend_.scale(out, config_.logit_scale, n_values));
  return config_.logit_cap == 0 ? Result<void>{}
                                : backend_.soft_cap(out, config_.logit_cap, n_values);
}

}  // namespace satchel::runtime
