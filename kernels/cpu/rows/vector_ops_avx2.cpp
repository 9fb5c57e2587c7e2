#include "kernels/cpu/levels/simd_avx2.h"
#include "kernels/cpu/rows/vector_ops_kernel.h"

namespace satchel::kernels::cpu {

const VectorOpsTable kVectorOpsAvx2 = kVectorOpsTable<SimdAvx2>;

}  // namespace satchel::kernels::cpu
