#include "kernels/cpu/dispatch/score_table.h"
#include "kernels/cpu/levels/attend_simd_avx512.h"
#include "kernels/cpu/scoring/score_kernel.h"

namespace satchel::kernels::cpu {

void score_tile_avx512(const ScoreJob& job) {
  ScoreTile<AttendAvx512>::run(job);
}

}  // namespace satchel::kernels::cpu
