#include "runtime/model/parts/latent_part.h"

#include <array>

namespace satchel::runtime {

using Projection = kernels::Backend::Projection;

void LatentPart::spec(std::vector<TensorSpec>& specs) {
  const LatentConfig& of = sizes().latent;
  const std::size_t width = config_.width;
  spec_of_norms("attn_norm.weight", "post_attention_norm.weight", specs);
  spec_of_queries(specs);
  const auto rows = [&](std::size_t first, std::size_t n, const kernels::Weight*& to) {
    specs.push_back(part_of(matrix("attn_kv_a_mqa.weight", n, width, to), first, of.key_dim()));
  };
  rows(0, of.rank, latent_);
  rows(of.rank, of.rotated, rotated_);
  specs.push_back(vector("attn_kv_a_norm.weight", of.rank, latent_gain_));
  spec_of_heads(specs);
  specs.push_back(
      matrix("attn_output.weight", width, sizes().attention.n_heads * of.value_dim, out_));
}

void LatentPart::spec_of_queries(std::vector<TensorSpec>& specs) {
  const LatentConfig& of = sizes().latent;
  const std::size_t n_rows = sizes().attention.n_heads * of.query_dim();
  if (of.query_rank == 0) {
    specs.push_back(matrix("attn_q.weight", n_rows, config_.width, q_));
    return;
  }
  specs.push_back(matrix("attn_q_a.weight", of.query_rank, config_.width, q_first_));
  specs.push_back(vector("attn_q_a_norm.weight", of.query_rank, q_gain_));
  specs.push_back(matrix("attn_q_b.weight", n_rows, of.query_rank, q_));
}

// One tensor has the matrices of all heads, one behind the other.
void LatentPart::spec_of_heads(std::vector<TensorSpec>& specs) {
  const LatentConfig& of = sizes().latent;
  const std::size_t n = sizes().attention.n_heads;
  heads_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    specs.push_back(part_of(matrix("attn_k_b.weight", of.rank, of.plain, heads_[i].k), i * of.rank,
                            n * of.rank));
    specs.push_back(part_of(matrix("attn_v_b.weight", of.value_dim, of.rank, heads_[i].v),
                            i * of.value_dim, n * of.value_dim));
  }
}

Result<void> LatentPart::make_queries(const LayerStep& step, Graph::Project what,
                                      const float* x) const {
  const LatentConfig& of = sizes().latent;
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens;
  const bool is_short = of.query_rank == 0;
  const std::array<Projection, 3> all = {{{.weight = is_short ? q_ : q_first_,
                                           .out = is_short ? work.head_queries : work.query_latent},
                                          {.weight = latent_, .out = work.latent},
                                          {.weight = rotated_, .out = work.rotated_key}}};
  SATCHEL_TRY(step.go_on());
  const bool only_queries = what == Graph::Project::queries;
  SATCHEL_TRY(project(step, x, std::span(all).first(only_queries ? 1 : all.size())));
  SATCHEL_TRY(step.go_on());
  if (!is_short) {
    SATCHEL_TRY(backend_.rms_norm(work.query_latent, q_gain_, n, of.query_rank,
                                  config_.norm_epsilon, work.query_latent));
    SATCHEL_TRY(backend_.matmul(*q_, work.query_latent, n, work.head_queries));
    SATCHEL_TRY(step.go_on());
  }
  SATCHEL_TRY(make_head_queries(step));
  return only_queries ? Result<void>{} : make_keys(step);
}

// A head's row in the file begins with what RoPE leaves alone.
Result<void> LatentPart::make_head_queries(const LayerStep& step) const {
  const LatentConfig& of = sizes().latent;
  const kvcache::LayerShape& shape = sizes().attention;
  const std::size_t n = step.batch.n_tokens;
  const std::size_t from_stride = shape.n_heads * of.query_dim(), to_stride = sizes().q_width();
  for (std::size_t i = 0; i < shape.n_heads; ++i) {
    float* const from = step.work.head_queries + i * of.query_dim();
    float* const to = step.work.q + i * shape.head_dim;
    SATCHEL_TRY(copy_rows({from + of.plain, from_stride}, {to, to_stride}, n, of.rotated));
    SATCHEL_TRY(multiply(step, *heads_[i].k, {from, from_stride}, {to + of.rotated, to_stride}));
  }
  if (sizes().rotated_scale == 1) return {};
  return backend_.scale_first(step.work.q, sizes().rotated_scale, n * shape.n_heads, shape.head_dim,
                              shape.n_rotated());
}

Result<void> LatentPart::make_keys(const LayerStep& step) const {
  const LatentConfig& of = sizes().latent;
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens, d = of.key_dim();
  SATCHEL_TRY(
      backend_.rms_norm(work.latent, latent_gain_, n, of.rank, config_.norm_epsilon, work.latent));
  SATCHEL_TRY(copy_rows({work.rotated_key, of.rotated}, {work.k, d}, n, of.rotated));
  return copy_rows({work.latent, of.rank}, {work.k + of.rotated, d}, n, of.rank);
}

Result<void> LatentPart::add_attended(const LayerStep& step, float* x) const {
  const LatentConfig& of = sizes().latent;
  const kvcache::LayerShape& shape = sizes().attention;
  const Workspace& work = step.work;
  SATCHEL_TRY(step.go_on());
  for (std::size_t i = 0; i < shape.n_heads; ++i)
    SATCHEL_TRY(multiply(step, *heads_[i].v,
                         {work.attended + i * shape.head_dim + of.rotated, sizes().q_width()},
                         {work.head_values + i * of.value_dim, shape.n_heads * of.value_dim}));
  return add_product(step, work.head_values, out_, nullptr, x);
}

// A single row, as decode has them, needs no copies.
Result<void> LatentPart::multiply(const LayerStep& step, const kernels::Weight& by,
                                  const Rows& from, const Rows& to) const {
  const std::size_t n = step.batch.n_tokens;
  if (n == 1) return backend_.matmul(by, from.first, 1, to.first);
  float *const in = step.work.head_in, *const out = step.work.head_out;
  SATCHEL_TRY(copy_rows(from, {in, by.n_in()}, n, by.n_in()));
  SATCHEL_TRY(backend_.matmul(by, in, n, out));
  return copy_rows({out, by.n_out()}, to, n, by.n_out());
}

Result<void> LatentPart::copy_rows(const Rows& from, const Rows& to, std::size_t n_rows,
                                   std::size_t width) const {
  for (std::size_t r = 0; r < n_rows; ++r)
    SATCHEL_TRY(backend_.copy(reinterpret_cast<std::byte*>(to.first + r * to.stride),
                              reinterpret_cast<const std::byte*>(from.first + r * from.stride),
                              width * sizeof(float)));
  return {};
}

}  // namespace satchel::runtime
