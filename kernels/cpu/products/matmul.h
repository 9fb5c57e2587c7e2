// Matrix products of the CPU backend.
//   quantised  weights are repacked (repacked_weight.h); activations become 16-bit integers with
//              one fp32 scale per 32 values. 8-bit integers (CpuContext::activation_bits) make
//              prefill a third to a half faster, but hardly decode, which is bound by memory. Their
//              error is up to 1e-2 of a product, that of 16 bits 1e-5. Greedy answers must equal
//              those of an fp32 implementation, token by token, so 16 bits are the default.
//              Neighbouring products of one type share their activations. For different types this
//              would gain less than 0.3 % of prefill and cost 1 % of those products on AVX2.
//   f32 f16 bf16  rows are read from the mapped file and widened to fp32
//   plain      quantised types that quant_format.h does not list (IQ1, IQ2, IQ3, TQ): rows are
//              decoded to fp32 on the fly (dequant_rows.h) and multiplied like f32: exact, but
//              several times slower than a repacked type
//   results    the same bytes for any number of threads and any grouping of tokens; for repacked
//              types also for every level
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cpu/products/repacked_weight.h"

namespace satchel::kernels::cpu {

class CpuWeight final : public Weight {
 public:
  CpuWeight(const WeightSource& source, RepackedWeight repacked)
      : Weight(source.type, source.n_out, source.n_in),
        source_(source),
        repacked_(std::move(repacked)) {}
  std::size_t owned_bytes() const override { return repacked_.bytes(); }
  const WeightSource& source() const { return source_; }
  // Empty for types that are read in place.
  const RepackedWeight& repacked() const { return repacked_; }

 private:
  WeightSource source_;
  RepackedWeight repacked_;
};

}  // namespace satchel::kernels::cpu
