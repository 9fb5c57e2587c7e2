#include "kernels/cpu/attend_exact_kernel.h"
#include "kernels/cpu/attend_packed_kernel.h"
#include "kernels/cpu/attend_simd_avx512.h"
#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/attend_tile_kernel.h"
#include "kernels/cpu/score_kernel.h"
#include "kernels/cpu/tile_fill_kernel.h"

namespace satchel::kernels::cpu {

const AttendTable kAttendAvx512Vnni = {.packed_page = attend_packed_page<AttendAvx512>,
                                       .exact_tokens = ExactTokens<AttendAvx512>::run,
                                       .tile = TileAttention<AttendAvx512>::run,
                                       .fill_exact = TileFill<AttendAvx512>::exact,
                                       .fill_affine = TileFill<AttendAvx512>::affine,
                                       .score = ScoreTile<AttendAvx512>::run};

}  // namespace satchel::kernels::cpu
