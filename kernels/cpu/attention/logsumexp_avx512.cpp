#include "kernels/cpu/attention/logsumexp_kernel.h"
#include "kernels/cpu/dispatch/logsumexp_table.h"
#include "kernels/cpu/levels/attend_simd_avx512.h"

namespace satchel::kernels::cpu {

const LogSumExpTable kLogSumExpAvx512 = {.tile = LogSumExpTile<AttendAvx512>::tile};

}  // namespace satchel::kernels::cpu
