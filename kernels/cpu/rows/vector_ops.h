// Norm, rotary positions, activation, addition and choice of the CPU backend. Contracts: Backend
// (kernels/contract/backend.h), whose operations these are. Rows and runs of fixed length go to the
// threads, so that results do not depend on their number; nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/contract/backend.h"
#include "kernels/cpu/dispatch/cpu_context.h"

namespace satchel::kernels::cpu {

struct NormArgs {
  const float* x = nullptr;     // [n_tokens, width]
  const float* gain = nullptr;  // [width]
  std::size_t n_tokens = 0, width = 0;
  float epsilon = 0;
  float* out = nullptr;
};

void rms_norm(const CpuContext& context, const NormArgs& args);
void make_rotation(const CpuContext& context, const Batch& batch, const RopeTable& table,
                   float* rotation);
void rope(const CpuContext& context, const RopeArgs& args);
void glu(const CpuContext& context, Activation activation, float* gate, const float* up,
         std::size_t n);
void add(const CpuContext& context, float* x, const float* y, std::size_t n);
void scale(const CpuContext& context, float* x, float factor, std::size_t n);
void soft_cap(const CpuContext& context, float* x, float cap, std::size_t n);
void add_row(const CpuContext& context, float* x, const float* row, std::size_t n_rows,
             std::size_t width);
void scale_first(const CpuContext& context, float* x, float factor, std::size_t n_rows,
                 std::size_t width, std::size_t n_first);
Result<std::int32_t> argmax(const CpuContext& context, const float* logits, std::size_t n);
Result<void> top_k(const CpuContext& context, const float* logits, std::size_t n,
                   std::span<Backend::Ranked> out);

}  // namespace satchel::kernels::cpu
