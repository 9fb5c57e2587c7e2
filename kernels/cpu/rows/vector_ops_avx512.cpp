#include "kernels/cpu/levels/simd_avx512.h"
#include "kernels/cpu/rows/vector_ops_kernel.h"

namespace satchel::kernels::cpu {

const VectorOpsTable kVectorOpsAvx512 = kVectorOpsTable<SimdAvx512>;

}  // namespace satchel::kernels::cpu
