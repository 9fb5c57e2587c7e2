#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/levels/simd_avx512.h"
#include "kernels/cpu/products/matmul_float_kernel.h"
#include "kernels/cpu/products/matmul_repacked_kernel.h"
#include "kernels/cpu/products/quantise_kernel.h"
#include "kernels/cpu/products/word_dot_kernel.h"

namespace satchel::kernels::cpu {

const MatmulTable kMatmulAvx512Vnni = {.tile = SimdAvx512::kTile,
                                       .dots_bytes = SimdAvx512::kDotsBytes,
                                       .quantise = quantise<SimdAvx512>,
                                       .repacked = matmul_repacked<WordDot, SimdAvx512>,
                                       .floats = matmul_floats<SimdAvx512>};

}  // namespace satchel::kernels::cpu
