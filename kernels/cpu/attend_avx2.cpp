#include "kernels/cpu/attend_exact_kernel.h"
#include "kernels/cpu/attend_packed_kernel.h"
#include "kernels/cpu/attend_simd_avx2.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/attend_tile_kernel.h"
#include "kernels/cpu/basis_kernel.h"
#include "kernels/cpu/graded_kernel.h"
#include "kernels/cpu/hadamard_kernel.h"
#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/simd_avx2.h"
#include "kernels/cpu/tile_fill_kernel.h"

namespace satchel::kernels::cpu {

const AttendTable kAttendAvx2 = {.packed_tokens = attend_packed_tokens<AttendAvx2>,
                                 .exact_tokens = ExactTokens<AttendAvx2>::run,
                                 .rotation = RopeKernel<SimdAvx2>::rotation,
                                 .turn_keys = BasisRows<AttendAvx2>::keys,
                                 .turn_queries = BasisRows<AttendAvx2>::queries,
                                 .turn_hadamard = HadamardRows<AttendAvx2>::turn,
                                 .tile = TileAttention<AttendAvx2>::run,
                                 .exact_keys = TileFill<AttendAvx2>::exact_keys,
                                 .exact_values = TileFill<AttendAvx2>::exact_values,
                                 .plain_keys = TileFill<AttendAvx2>::plain_keys,
                                 .affine_keys = TileFill<AttendAvx2>::affine_keys,
                                 .graded_keys = GradedFill<AttendAvx2>::keys,
                                 .affine_values = TileFill<AttendAvx2>::affine_values};

}  // namespace satchel::kernels::cpu
