// AttentionPart: queries, keys and values of a layer (three matrices or one, optional biases,
// optional norms of queries and keys), and what becomes of what attention gives. Where that is
// gated (Qwen 3.5), the matrix of queries has the rows of each head's queries, then of its gate.
#pragma once

#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

class AttentionPart : public LayerPart {
 public:
  using LayerPart::LayerPart;

  // Into the object, which stays where it is until the weights are loaded.
  void spec(std::vector<TensorSpec>& specs);
  // As Graph::project.
  Result<void> make_queries(const LayerStep& step, Graph::Project what, const float* x) const;
  // x += out · work.attended, gated where the layer does that
  Result<void> add_attended(const LayerStep& step, float* x) const;

 private:
  struct Operand {
    const kernels::Weight* weight = nullptr;       // [q_ or kv_width, width]
    const float *bias = nullptr, *gain = nullptr;  // null: none
    kernels::Backend::Projection into(float* out) const { return {weight, out, bias}; }
  };
  void spec_of_operand(std::size_t which, std::vector<TensorSpec>& specs);
  void spec_of_gated_queries(std::vector<TensorSpec>& specs);
  Result<void> finish_values(const LayerStep& step) const;
  Result<void> norm(const LayerStep& step, const Operand& operand, std::size_t n_heads,
                    float* rows) const;

  Operand q_, k_, v_;
  const kernels::Weight* gate_ = nullptr;  // [q_width, width]; null: none
  const kernels::Weight* out_ = nullptr;   // [width, q_width]
  const float* out_bias_ = nullptr;
};

}  // namespace satchel::runtime
