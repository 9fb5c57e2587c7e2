#include "kernels/cpu/attend_simd_avx512.h"
#include "kernels/cpu/score_kernel.h"
#include "kernels/cpu/score_table.h"

namespace satchel::kernels::cpu {

const ScoreTable kScoreAvx512 = {.run = ScoreTile<AttendAvx512>::run};

}  // namespace satchel::kernels::cpu
