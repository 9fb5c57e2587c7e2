#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_avx2.h"
#include "kernels/cpu/products/byte_dot_kernel.h"
#include "kernels/cpu/products/matmul_repacked_kernel.h"

namespace satchel::kernels::cpu {

const ByteMatmulTable kByteMatmulAvx2 = {.every_type = SimdAvx2::kDotsBytes,
                                         .packed = matmul_packed<ByteDot, SimdAvx2>};

}  // namespace satchel::kernels::cpu
