#include "kernels/cpu/dispatch/dense_table.h"
#include "kernels/cpu/levels/attend_simd_avx512.h"
#include "kernels/cpu/scoring/dense_kernel.h"

namespace satchel::kernels::cpu {

void dense_avx512(const DenseJob& job) {
  DenseKernel<AttendAvx512>::run(job);
}

}  // namespace satchel::kernels::cpu
