#include "kernels/cpu/attention/logsumexp_kernel.h"
#include "kernels/cpu/dispatch/logsumexp_table.h"
#include "kernels/cpu/levels/attend_simd_avx2.h"

namespace satchel::kernels::cpu {

const LogSumExpTable kLogSumExpAvx2 = {.tile = LogSumExpTile<AttendAvx2>::tile};

}  // namespace satchel::kernels::cpu
