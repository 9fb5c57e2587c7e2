#include "kernels/cpu/dispatch/dense_table.h"
#include "kernels/cpu/levels/attend_simd_avx2.h"
#include "kernels/cpu/scoring/dense_kernel.h"

namespace satchel::kernels::cpu {

void dense_avx2(const DenseJob& job) {
  DenseKernel<AttendAvx2>::run(job);
}

}  // namespace satchel::kernels::cpu
