#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_avx2.h"
#include "kernels/cpu/products/matmul_float_kernel.h"
#include "kernels/cpu/products/matmul_repacked_kernel.h"
#include "kernels/cpu/products/quantise_kernel.h"
#include "kernels/cpu/products/word_dot_kernel.h"

namespace satchel::kernels::cpu {

const MatmulTable kMatmulAvx2 = {.tile = SimdAvx2::kTile,
                                 .dots_bytes = SimdAvx2::kDotsBytes,
                                 .quantise = quantise<SimdAvx2>,
                                 .repacked = matmul_repacked<WordDot, SimdAvx2>,
                                 .floats = matmul_floats<SimdAvx2>};

}  // namespace satchel::kernels::cpu
