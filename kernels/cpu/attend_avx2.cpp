#include "kernels/cpu/attend_exact_kernel.h"
#include "kernels/cpu/attend_packed_kernel.h"
#include "kernels/cpu/attend_simd_avx2.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/attend_tile_kernel.h"
#include "kernels/cpu/score_kernel.h"
#include "kernels/cpu/tile_fill_kernel.h"

namespace satchel::kernels::cpu {

const AttendTable kAttendAvx2 = {.packed_page = attend_packed_page<AttendAvx2>,
                                 .exact_tokens = ExactTokens<AttendAvx2>::run,
                                 .tile = TileAttention<AttendAvx2>::run,
                                 .fill_exact = TileFill<AttendAvx2>::exact,
                                 .fill_affine = TileFill<AttendAvx2>::affine,
                                 .score = ScoreTile<AttendAvx2>::run};

}  // namespace satchel::kernels::cpu
