#include "kernels/cpu/levels/attend_simd_avx512.h"
#include "kernels/cpu/pages/encode_kernel.h"

namespace satchel::kernels::cpu {

const EncodeTable kEncodeAvx512 = kEncodeTable<AttendAvx512>;

}  // namespace satchel::kernels::cpu
