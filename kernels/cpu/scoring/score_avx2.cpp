#include "kernels/cpu/dispatch/score_table.h"
#include "kernels/cpu/levels/attend_simd_avx2.h"
#include "kernels/cpu/scoring/score_kernel.h"

namespace satchel::kernels::cpu {

const ScoreTable kScoreAvx2 = {.run = ScoreTile<AttendAvx2>::run};

}  // namespace satchel::kernels::cpu
