// The fp16 matrix instruction (for bytes: byte_mma.h). For .cu files; the executor replaces this
// header by its own.
//   d += a · b over a warp: a [16, 16] and b [16, 8] fp16, d [16, 8] fp32. Of thread l of the warp,
//   with g = l / 4 and t = l % 4: a's registers hold (row g, k 2t), (g + 8, 2t), (g, 2t + 8),
//   (g + 8, 2t + 8), each with the next k above it; b's (k 2t, column g), (2t + 8, g) likewise;
//   d is (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
//   source  PTX ISA 8.5, mma.m16n8k16; sm_75 has the half of it alone (m16n8k8), which is called
//           twice
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace satchel::kernels::cuda {

__device__ __forceinline__ void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  for (int i = 0; i < 2; ++i)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#endif
}

}  // namespace satchel::kernels::cuda
