#include "kernels/cpu/attention/logsumexp_kernel.h"
#include "kernels/cpu/dispatch/logsumexp_table.h"
#include "kernels/cpu/levels/attend_simd_avx512.h"

namespace satchel::kernels::cpu {

void logsumexp_tile_avx512(const LogSumExpRows& rows, const KeyTile& tile) {
  LogSumExpTile<AttendAvx512>::tile(rows, tile);
}

}  // namespace satchel::kernels::cpu
