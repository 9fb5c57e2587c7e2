#include "kernels/cpu/dispatch/score_table.h"
#include "kernels/cpu/levels/attend_simd_avx512.h"
#include "kernels/cpu/scoring/score_kernel.h"

namespace satchel::kernels::cpu {

const ScoreTable kScoreAvx512 = {.run = ScoreTile<AttendAvx512>::run};

}  // namespace satchel::kernels::cpu
