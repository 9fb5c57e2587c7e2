#include "kernels/cpu/dispatch/kernel_table.h"

#include "kernels/base/assert.h"

namespace satchel::kernels::cpu {
namespace {

constexpr KernelTable kAvx2 = {.matmul = kMatmulAvx2,
                               .matmul_bytes = matmul_bytes_avx2,
                               .dense = dense_avx2,
                               .vector_ops = kVectorOpsAvx2,
                               .encode = kEncodeAvx2,
                               .attend = kAttendAvx2,
                               .score_tile = score_tile_avx2,
                               .logsumexp_tile = logsumexp_tile_avx2};
constexpr KernelTable kAvx512 = {.matmul = kMatmulAvx512,
                                 .matmul_bytes = matmul_bytes_avx512,
                                 .dense = dense_avx512,
                                 .vector_ops = kVectorOpsAvx512,
                                 .encode = kEncodeAvx512,
                                 .attend = kAttendAvx512,
                                 .score_tile = score_tile_avx512,
                                 .logsumexp_tile = logsumexp_tile_avx512};
constexpr KernelTable kAvx512Vnni = {.matmul = kMatmulAvx512Vnni,
                                     .matmul_bytes = matmul_bytes_avx512vnni,
                                     .dense = dense_avx512,
                                     .vector_ops = kVectorOpsAvx512,
                                     .encode = kEncodeAvx512,
                                     .attend = kAttendAvx512Vnni,
                                     .score_tile = score_tile_avx512,
                                     .logsumexp_tile = logsumexp_tile_avx512};

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
