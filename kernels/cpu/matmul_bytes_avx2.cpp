#include "kernels/cpu/byte_dot_kernel.h"
#include "kernels/cpu/matmul_packed_kernel.h"
#include "kernels/cpu/matmul_table.h"
#include "kernels/cpu/simd_avx2.h"

namespace satchel::kernels::cpu {

const ByteMatmulTable kByteMatmulAvx2 = {.every_type = SimdAvx2::kDotsBytes,
                                         .packed = matmul_packed<ByteDot, SimdAvx2>};

}  // namespace satchel::kernels::cpu
