// KernelTable: every kernel of the CPU backend at one instruction level, chosen once, when the
// backend is made. Where a level brings nothing new to a family, it has the family of the level
// below.
#pragma once

#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/encode_table.h"
#include "kernels/cpu/log_sum_table.h"
#include "kernels/cpu/matmul_table.h"
#include "kernels/cpu/score_table.h"
#include "kernels/cpu/vector_ops_table.h"

namespace satchel::kernels::cpu {

struct KernelTable {
  const MatmulTable& matmul;
  const ByteMatmulTable& byte_matmul;
  const VectorOpsTable& vector_ops;
  const EncodeTable& encode;
  const AttendTable& attend;
  const ScoreTable& score;
  const LogSumTable& log_sum;
};

const KernelTable& kernels_of(CpuLevel level);

}  // namespace satchel::kernels::cpu
