// Four 8x8 matrices of fp16 from shared memory as a warp's registers of operand A (mma.h): one
// instruction in place of four loads. For .cu files; the executor replaces this header by its own.
//   rows    thread l of the warp gives the address of row l % 8 of matrix l / 8: 16 bytes, aligned
//           to that
//   out     register i is of matrix i: row l / 4, values 2 · (l % 4) and the next; transposed:
//           column l / 4 of rows 2 · (l % 4) and the next
//   source  PTX ISA 8.5, ldmatrix
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace satchel::kernels::cuda {

template <bool kTransposed>
__device__ __forceinline__ void load_matrices(const std::byte* row, std::uint32_t (&out)[4]) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at)
                 : "memory");
}

}  // namespace satchel::kernels::cuda
