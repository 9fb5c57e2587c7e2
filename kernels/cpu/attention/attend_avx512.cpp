#include "kernels/cpu/attention/attend_table_kernel.h"
#include "kernels/cpu/levels/attend_simd_avx512.h"

namespace satchel::kernels::cpu {

const AttendTable kAttendAvx512 = kAttendTable<AttendAvx512>;

}  // namespace satchel::kernels::cpu
