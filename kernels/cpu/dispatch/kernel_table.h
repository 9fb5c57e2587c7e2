// KernelTable: all kernels of the CPU backend at one instruction level, chosen when the backend is
// created. A level without its own version of a family uses that of the level below.
#pragma once

#include "kernels/cpu/dispatch/attend_table.h"
#include "kernels/cpu/dispatch/dense_table.h"
#include "kernels/cpu/dispatch/encode_table.h"
#include "kernels/cpu/dispatch/logsumexp_table.h"
#include "kernels/cpu/dispatch/matmul_table.h"
#include "kernels/cpu/dispatch/score_table.h"
#include "kernels/cpu/dispatch/vector_ops_table.h"
#include "kernels/cpu/levels/cpu_level.h"

namespace satchel::kernels::cpu {

struct KernelTable {
  const MatmulTable& matmul;
  void (*matmul_bytes)(const RepackedJob& job);
  void (*dense)(const DenseJob& job);
  const VectorOpsTable& vector_ops;
  const EncodeTable& encode;
  const AttendTable& attend;
  void (*score_tile)(const ScoreJob& job);
  void (*logsumexp_tile)(const LogSumExpRows& rows, const KeyTile& tile);
};

const KernelTable& kernels_of(CpuLevel level);

}  // namespace satchel::kernels::cpu
