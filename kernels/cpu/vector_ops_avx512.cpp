#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/simd_avx512.h"
#include "kernels/cpu/vector_ops_kernel.h"
#include "kernels/cpu/vector_ops_table.h"

namespace satchel::kernels::cpu {

const VectorOpsTable kVectorOpsAvx512 = {.rms_norm = VectorOps<SimdAvx512>::rms_norm,
                                         .gated_silu = VectorOps<SimdAvx512>::gated_silu,
                                         .gated_gelu = VectorOps<SimdAvx512>::gated_gelu,
                                         .add = VectorOps<SimdAvx512>::add,
                                         .scale = VectorOps<SimdAvx512>::scale,
                                         .soft_cap = VectorOps<SimdAvx512>::soft_cap,
                                         .quadratic = VectorOps<SimdAvx512>::quadratic,
                                         .rotation = RopeKernel<SimdAvx512>::rotation,
                                         .rope = RopeKernel<SimdAvx512>::run,
                                         .find_above = VectorOps<SimdAvx512>::find_above};

}  // namespace satchel::kernels::cpu
