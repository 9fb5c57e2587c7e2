#include "kernels/cpu/dispatch/kernel_table.h"

#include "kernels/base/assert.h"

namespace satchel::kernels::cpu {
namespace {

constexpr KernelTable kAvx2 = {.matmul = kMatmulAvx2,
                               .byte_matmul = kByteMatmulAvx2,
                               .vector_ops = kVectorOpsAvx2,
                               .encode = kEncodeAvx2,
                               .attend = kAttendAvx2,
                               .score = kScoreAvx2,
                               .logsumexp = kLogSumExpAvx2};
constexpr KernelTable kAvx512 = {.matmul = kMatmulAvx512,
                                 .byte_matmul = kByteMatmulAvx512,
                                 .vector_ops = kVectorOpsAvx512,
                                 .encode = kEncodeAvx512,
                                 .attend = kAttendAvx512,
                                 .score = kScoreAvx512,
                                 .logsumexp = kLogSumExpAvx512};
constexpr KernelTable kAvx512Vnni = {.matmul = kMatmulAvx512Vnni,
                                     .byte_matmul = kByteMatmulAvx512Vnni,
                                     .vector_ops = kVectorOpsAvx512,
                                     .encode = kEncodeAvx512,
                                     .attend = kAttendAvx512Vnni,
                                     .score = kScoreAvx512,
                                     .logsumexp = kLogSumExpAvx512};

}  // namespace

const KernelTable& kernels_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::avx2:
      return kAvx2;
    case CpuLevel::avx512:
      return kAvx512;
    case CpuLevel::avx512vnni:
      return kAvx512Vnni;
  }
  SATCHEL_ASSERT(false);
  return kAvx2;
}

}  // namespace satchel::kernels::cpu
