#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/simd_avx2.h"
#include "kernels/cpu/vector_ops_kernel.h"
#include "kernels/cpu/vector_ops_table.h"

namespace satchel::kernels::cpu {

const VectorOpsTable kVectorOpsAvx2 = {.rms_norm = VectorOps<SimdAvx2>::rms_norm,
                                       .gated_silu = VectorOps<SimdAvx2>::gated_silu,
                                       .gated_gelu = VectorOps<SimdAvx2>::gated_gelu,
                                       .add = VectorOps<SimdAvx2>::add,
                                       .scale = VectorOps<SimdAvx2>::scale,
                                       .soft_cap = VectorOps<SimdAvx2>::soft_cap,
                                       .quadratic = VectorOps<SimdAvx2>::quadratic,
                                       .rotation = RopeKernel<SimdAvx2>::rotation,
                                       .rope = RopeKernel<SimdAvx2>::run,
                                       .find_above = VectorOps<SimdAvx2>::find_above};

}  // namespace satchel::kernels::cpu
