// The byte matrix instruction, the basis of products with weights. Its integer sums are exact in
// any order. For .cu files; the executor replaces this header by its own.
//   d += a · b over a warp: a [16, 32] bytes without sign, b [32, 8] signed, d [16, 8] int32. Of
//   thread l, with g = l / 4 and t = l % 4: a's registers hold (row g, k 4t), (g + 8, 4t),
//   (g, 4t + 16), (g + 8, 4t + 16), each with the next three k above it; b's (k 4t, column g),
//   (4t + 16, g) likewise; d is (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
//   source  PTX ISA 8.5, mma.m16n8k32 and its half m16n8k16; sm_75 has a half of that alone, eight
//           rows (m8n8k16)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace satchel::kernels::cuda {

// The first 16 of k: registers 0 and 1 of a, 0 of b; or the others.
__device__ __forceinline__ void multiply_add_half(int (&d)[4], std::uint32_t a_above,
                                                  std::uint32_t a_below, std::uint32_t b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a_above), "r"(a_below), "r"(b));
#else
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a_above), "r"(b));
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(d[2]), "+r"(d[3])
               : "r"(a_below), "r"(b));
#endif
}

__device__ __forceinline__ void multiply_add(int (&d)[4], const std::uint32_t (&a)[4],
                                             const uint2& b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
#else
  multiply_add_half(d, a[0], a[1], b.x);
  multiply_add_half(d, a[2], a[3], b.y);
#endif
}

}  // namespace satchel::kernels::cuda
