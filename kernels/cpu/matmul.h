// Matrix products of the CPU backend.
//   quantised  weights are repacked (packed_weight.h); activations become 16-bit integers with one
//              fp32 scale for 32 values. Integers of 8 bits (CpuContext::activation_bits) make a
//              prompt a third to a half faster and hardly a decode step, which waits for memory; but
//              they err by up to 1e-2 of a product where 16 bits err by 1e-5, and a greedy answer is
//              to be that of an fp32 implementation, token by token. So 16 bits are the default.
//              Neighbours of one type share their activations. Of unlike types they do not: less
//              than 0.3 % of reading was to be won, and 1 % of those products lost on AVX2
//   f32 f16 bf16  rows are read in the file's mapping and widened to fp32
//   plain      quantised types that packed_shape.h does not list (IQ1, IQ2, IQ3, TQ): rows are read
//              back to fp32 as they are needed (plain_rows.h) and met like f32: exact, several
//              times slower than a repacked type
//   results    the same bytes for any number of threads and any grouping of tokens; for repacked
//              types also for every level
#pragma once

#include <cstddef>

#include "kernels/base/aligned_buffer.h"
#include "kernels/contract/backend.h"
#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/packed_weight.h"

namespace satchel::kernels::cpu {

class CpuWeight final : public Weight {
 public:
  CpuWeight(const WeightSource& source, PackedWeight packed)
      : Weight(source.type, source.n_out, source.n_in),
        source_(source),
        packed_(std::move(packed)) {}
  std::size_t owned_bytes() const override { return packed_.bytes(); }
  const WeightSource& source() const { return source_; }
  const PackedWeight& packed() const { return packed_; }  // empty for types that are read in place

 private:
  WeightSource source_;
  PackedWeight packed_;
};

// Room of one call for activations as integers, or for rows of weights read back to fp32; grows to
// the largest seen, then allocates no more.
class MatmulScratch {
 public:
  Result<std::byte*> at_least(std::size_t bytes);
  std::size_t bytes() const { return memory_.size(); }

 private:
  AlignedBuffer memory_;
};

Result<std::unique_ptr<Weight>> load_weight(const CpuContext& context, const WeightSource& source);
Result<void> embed(const CpuContext& context, const CpuWeight& table,
                   std::span<const std::int32_t> ids, float* out);
// outs[i] = x · weights[i]ᵀ; all weights are as wide.
Result<void> project(const CpuContext& context, MatmulScratch& scratch,
                     std::span<const Backend::Projection> projections, const float* x,
                     std::size_t n_tokens);

}  // namespace satchel::kernels::cpu
