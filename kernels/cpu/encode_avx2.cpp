#include "kernels/cpu/attend_simd_avx2.h"
#include "kernels/cpu/encode_kernel.h"
#include "kernels/cpu/encode_table.h"
#include "kernels/cpu/graded_encode_kernel.h"

namespace satchel::kernels::cpu {

const EncodeTable kEncodeAvx2 = {.encode = Encode<AttendAvx2>::run,
                                 .encode_graded = GradedEncode<AttendAvx2>::run,
                                 .load = Encode<AttendAvx2>::load,
                                 .clamp = Encode<AttendAvx2>::clamp,
                                 .load_turned = Encode<AttendAvx2>::load_turned,
                                 .turn_columns = Encode<AttendAvx2>::turn_columns,
                                 .all_finite = Encode<AttendAvx2>::all_finite,
                                 .store = Encode<AttendAvx2>::store};

}  // namespace satchel::kernels::cpu
