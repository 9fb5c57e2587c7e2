// The model operations of the reference backend, in the plainest loops: what each must compute.
// Sums run in float64 in index order; results round to fp32 once. Contracts: Backend
// (kernels/contract/backend.h), whose operations these are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/contract/backend.h"

namespace satchel::kernels::reference {

// Asserts that `source` is whole: as many bytes as its rows take.
void check_source(const WeightSource& source);

// Both read the weight as it lies in the file, one decoded row at a time.
Result<void> embed(const WeightSource& table, std::span<const std::int32_t> ids, float* out);
Result<void> matmul(const WeightSource& weight, const float* x, std::size_t n_tokens, float* out);

void rms_norm(const float* x, const float* gain, std::size_t n_tokens, std::size_t width,
              float epsilon, float* out);
void make_rotation(const Batch& batch, const RopeTable& table, float* rotation);
void rope(const RopeArgs& args);
void glu(Activation activation, float* gate, const float* up, std::size_t n_values);
void add(float* x, const float* y, std::size_t n_values);
void scale(float* x, float factor, std::size_t n_values);
void soft_cap(float* x, float cap, std::size_t n_values);

Result<std::int32_t> argmax(const float* logits, std::size_t n);
Result<void> top_k(const float* logits, std::size_t n, std::span<Backend::Ranked> out);
// What both say of a NaN.
Error nan_among_logits(std::size_t index);

}  // namespace satchel::kernels::reference
