#include "kernels/cpu/byte_dot_kernel.h"
#include "kernels/cpu/matmul_packed_kernel.h"
#include "kernels/cpu/matmul_table.h"
#include "kernels/cpu/simd_avx512.h"

namespace satchel::kernels::cpu {

const ByteMatmulTable kByteMatmulAvx512 = {.every_type = SimdAvx512::kDotsBytes,
                                           .packed = matmul_packed<ByteDot, SimdAvx512>};

}  // namespace satchel::kernels::cpu
