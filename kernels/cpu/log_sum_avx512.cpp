#include "kernels/cpu/attend_simd_avx512.h"
#include "kernels/cpu/log_sum_kernel.h"
#include "kernels/cpu/log_sum_table.h"

namespace satchel::kernels::cpu {

const LogSumTable kLogSumAvx512 = {.tile = LogSumTile<AttendAvx512>::tile};

}  // namespace satchel::kernels::cpu
