#include "kernels/cpu/levels/attend_simd_avx2.h"
#include "kernels/cpu/pages/encode_kernel.h"

namespace satchel::kernels::cpu {

const EncodeTable kEncodeAvx2 = kEncodeTable<AttendAvx2>;

}  // namespace satchel::kernels::cpu
