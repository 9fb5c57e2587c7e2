#include "kernels/cpu/attend_exact_kernel.h"
#include "kernels/cpu/attend_packed_kernel.h"
#include "kernels/cpu/attend_simd_avx512.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/attend_tile_kernel.h"
#include "kernels/cpu/basis_kernel.h"
#include "kernels/cpu/graded_kernel.h"
#include "kernels/cpu/hadamard_kernel.h"
#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/simd_avx512.h"
#include "kernels/cpu/tile_fill_kernel.h"

namespace satchel::kernels::cpu {

const AttendTable kAttendAvx512 = {.packed_tokens = attend_packed_tokens<AttendAvx512>,
                                   .exact_tokens = ExactTokens<AttendAvx512>::run,
                                   .rotation = RopeKernel<SimdAvx512>::rotation,
                                   .turn_keys = BasisRows<AttendAvx512>::keys,
                                   .turn_queries = BasisRows<AttendAvx512>::queries,
                                   .turn_hadamard = HadamardRows<AttendAvx512>::turn,
                                   .tile = TileAttention<AttendAvx512>::run,
                                   .exact_keys = TileFill<AttendAvx512>::exact_keys,
                                   .exact_values = TileFill<AttendAvx512>::exact_values,
                                   .plain_keys = TileFill<AttendAvx512>::plain_keys,
                                   .affine_keys = TileFill<AttendAvx512>::affine_keys,
                                   .graded_keys = GradedFill<AttendAvx512>::keys,
                                   .affine_values = TileFill<AttendAvx512>::affine_values};

}  // namespace satchel::kernels::cpu
