#include "kernels/cpu/matmul_float_kernel.h"
#include "kernels/cpu/matmul_packed_kernel.h"
#include "kernels/cpu/matmul_table.h"
#include "kernels/cpu/quantise_kernel.h"
#include "kernels/cpu/simd_avx2.h"
#include "kernels/cpu/word_dot_kernel.h"

namespace satchel::kernels::cpu {

const MatmulTable kMatmulAvx2 = {.tile = SimdAvx2::kTile,
                                 .quantise = quantise<SimdAvx2>,
                                 .packed = matmul_packed<WordDot, SimdAvx2>,
                                 .floats = matmul_floats<SimdAvx2>};

}  // namespace satchel::kernels::cpu
