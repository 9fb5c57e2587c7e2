#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_avx512.h"
#include "kernels/cpu/products/byte_dot_kernel.h"
#include "kernels/cpu/products/matmul_repacked_kernel.h"

namespace satchel::kernels::cpu {

const ByteMatmulTable kByteMatmulAvx512Vnni = {.every_type = SimdAvx512::kDotsBytes,
                                               .packed = matmul_packed<ByteDot, SimdAvx512>};

}  // namespace satchel::kernels::cpu
