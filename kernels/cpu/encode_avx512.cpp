#include "kernels/cpu/attend_simd_avx512.h"
#include "kernels/cpu/encode_kernel.h"
#include "kernels/cpu/encode_table.h"
#include "kernels/cpu/graded_encode_kernel.h"

namespace satchel::kernels::cpu {

const EncodeTable kEncodeAvx512 = {.encode = Encode<AttendAvx512>::run,
                                   .encode_graded = GradedEncode<AttendAvx512>::run,
                                   .load = Encode<AttendAvx512>::load,
                                   .clamp = Encode<AttendAvx512>::clamp,
                                   .load_turned = Encode<AttendAvx512>::load_turned,
                                   .turn_columns = Encode<AttendAvx512>::turn_columns,
                                   .all_finite = Encode<AttendAvx512>::all_finite,
                                   .store = Encode<AttendAvx512>::store};

}  // namespace satchel::kernels::cpu
