#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_avx2.h"
#include "kernels/cpu/products/byte_dot_kernel.h"
#include "kernels/cpu/products/matmul_repacked_kernel.h"

namespace satchel::kernels::cpu {

void matmul_bytes_avx2(const RepackedJob& job) {
  matmul_repacked<ByteDot, SimdAvx2>(job);
}

}  // namespace satchel::kernels::cpu
