#include "kernels/cpu/attention/attend_table_kernel.h"
#include "kernels/cpu/levels/attend_simd_avx2.h"

namespace satchel::kernels::cpu {

const AttendTable kAttendAvx2 = kAttendTable<AttendAvx2>;

}  // namespace satchel::kernels::cpu
