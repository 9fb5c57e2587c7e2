#include "kernels/cpu/attend_simd_avx2.h"
#include "kernels/cpu/score_kernel.h"
#include "kernels/cpu/score_table.h"

namespace satchel::kernels::cpu {

const ScoreTable kScoreAvx2 = {.run = ScoreTile<AttendAvx2>::run};

}  // namespace satchel::kernels::cpu
