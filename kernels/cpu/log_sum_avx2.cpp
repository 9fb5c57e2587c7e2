#include "kernels/cpu/attend_simd_avx2.h"
#include "kernels/cpu/log_sum_kernel.h"
#include "kernels/cpu/log_sum_table.h"

namespace satchel::kernels::cpu {

const LogSumTable kLogSumAvx2 = {.tile = LogSumTile<AttendAvx2>::tile};

}  // namespace satchel::kernels::cpu
