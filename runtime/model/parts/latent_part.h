// LatentPart: multi-head latent attention (DeepSeek-V2). A token's key and value are one row of the
// lane, [rotated part; latent], whatever the number of heads. Each head's queries are multiplied
// into the latent's coordinates before attention, and what attention gives back out of them:
//   q_h    = [RoPE(rotated part of q_h); k_bᵀ · rest of q_h]
//   out_h  = v_b · latent part of the weighted sum of keys
//   order  the rotated part comes first, as in every other lane; files have it last
//   source arXiv:2405.04434, section 2.1 and appendix C
#pragma once

#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

class LatentPart : public LayerPart {
 public:
  using LayerPart::LayerPart;

  // Into the object, which stays where it is until the weights are loaded.
  void spec(std::vector<TensorSpec>& specs);
  // As Graph::project; work.v is not written.
  Result<void> make_queries(const LayerStep& step, Graph::Project what, const float* x) const;
  // x += out · values of all heads, made of work.attended
  Result<void> add_attended(const LayerStep& step, float* x) const;

 private:
  struct Rows {
    float* first = nullptr;
    std::size_t stride = 0;
  };
  void spec_of_queries(std::vector<TensorSpec>& specs);
  void spec_of_heads(std::vector<TensorSpec>& specs);
  Result<void> make_head_queries(const LayerStep& step) const;
  Result<void> make_keys(const LayerStep& step) const;
  // to = by · from, of rows that lie among others.
  Result<void> multiply(const LayerStep& step, const kernels::Weight& by, const Rows& from,
                        const Rows& to) const;
  Result<void> copy_rows(const Rows& from, const Rows& to, std::size_t n_rows,
                         std::size_t width) const;

  // Of one matrix, or of two with a norm between.
  const kernels::Weight* q_ = nullptr;        // [q_rows, width or q_rank]
  const kernels::Weight* q_first_ = nullptr;  // [q_rank, width]; null: one matrix
  const float* q_gain_ = nullptr;             // [q_rank]
  const kernels::Weight *latent_ = nullptr, *rotated_ = nullptr;  // [rank, width], [rotated, width]
  const float* latent_gain_ = nullptr;                            // [rank]
  struct Head {
    const kernels::Weight* k = nullptr;  // [rank, plain]
    const kernels::Weight* v = nullptr;  // [value_dim, rank]
  };
  std::vector<Head> heads_;
  const kernels::Weight* out_ = nullptr;  // [width, n_heads · value_dim]
};

}  // namespace satchel::runtime
