#include "simt/small_kernels.h"

#include "simt/async_copy.h"
#include "simt/fragments.h"

namespace simt::test {

template <class T>
__device__ T* shared() {
  return reinterpret_cast<T*>(shared_bytes());
}

__global__ void sum_blocks(const float* x, unsigned n, float* sums, int barriers) {
  float* part = shared<float>();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  if ((barriers & 1) != 0) __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    if ((barriers & 2) != 0) __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

__global__ void read_unwritten(const float* x, float* out, int of_shared) {
  out[threadIdx.x] = of_shared != 0 ? shared<float>()[threadIdx.x] : x[threadIdx.x];
}

__global__ void touch_host(float* at) {
  at[0] = 1;
}

__global__ void half_meets(int* out) {
  if (threadIdx.x < 16) __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void sum_warp(const float* x, float* out) {
  float sum = x[threadIdx.x];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  const unsigned above = __ballot_sync(~0u, x[threadIdx.x] > 30.0f);
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = static_cast<float>(above);
  }
}

__global__ void exchange_in_warp(int* out, int syncs) {
  int* at = shared<int>();
  at[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (syncs != 0) __syncwarp();
  out[threadIdx.x] = at[threadIdx.x ^ 1u];
}

__global__ void last_adds(const float* x, float* parts, unsigned* n_done, float* sum, int fences) {
  parts[blockIdx.x] = 2 * x[blockIdx.x];
  if (fences != 0) __threadfence();
  if (atomicAdd(n_done, 1u) + 1 != gridDim.x) return;
  if (fences != 0) __threadfence();
  float all = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) all += parts[i];
  *sum = all;
}

__global__ void multiply(const __half* a, const __half* b, float* c, int exchanges) {
  const unsigned lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2;
  const auto word = [](__half low, __half high) {
    return __half_as_ushort(low) | static_cast<unsigned>(__half_as_ushort(high)) << 16;
  };
  unsigned of_a[4], of_b[2];
  for (unsigned r = 0; r < 4; ++r) {
    const unsigned of = exchanges != 0 ? r % 2 * 2 + r / 2 : r;
    const __half* at = a + (group + of % 2 * 8) * 16 + pair + of / 2 * 8;
    of_a[r] = word(at[0], at[1]);
  }
  for (unsigned r = 0; r < 2; ++r) {
    const __half* at = b + (pair + 8 * r) * 8 + group;
    of_b[r] = word(at[0], at[8]);
  }
  float* const to = c + group * 8 + pair;
  float sums[4] = {to[0], to[1], to[64], to[65]};
  mma_16x8x16(sums, of_a, of_b, sums);
  for (unsigned i = 0; i < 4; ++i) to[i / 2 * 64 + i % 2] = sums[i];
}

__global__ void multiply_bytes(const std::uint8_t* a, const std::int8_t* b, int* c, int exchanges) {
  const unsigned lane = threadIdx.x, group = lane / 4, first = lane % 4 * 4;
  unsigned of_a[4] = {}, of_b[2] = {};
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned of = exchanges != 0 ? r % 2 * 2 + r / 2 : r;
      of_a[r] |= unsigned{a[(group + of % 2 * 8) * 32 + first + i + of / 2 * 16]} << 8 * i;
    }
    for (unsigned r = 0; r < 2; ++r)
      of_b[r] |= unsigned{static_cast<std::uint8_t>(b[group * 32 + first + i + 16 * r])} << 8 * i;
  }
  int sums[4] = {}, halves[4] = {};
  mma_bytes_16x8x32(sums, of_a, of_b);
  for (unsigned r = 0; r < 2; ++r) mma_bytes_16x8x16(halves, of_a[2 * r], of_a[2 * r + 1], of_b[r]);
  for (unsigned i = 0; i < 4; ++i) {
    int* to = &c[(group + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2];
    *to = sums[i];
    if (halves[i] != sums[i]) *to = -1;
  }
}

__global__ void copy_through_shared(const float* x, float* out, int waits) {
  auto* shared = reinterpret_cast<float*>(shared_bytes());
  for (unsigned part = 0; part < 2; ++part) {
    const unsigned at = part * 128 + threadIdx.x * 4;
    copy_async(shared + at, x + at, 16);
    commit_copies();
  }
  const unsigned mine = threadIdx.x * 4;
  wait_for_copies(1);
  for (unsigned i = 0; i < 4; ++i) out[mine + i] = shared[mine + i];
  if (waits != 0) wait_for_copies(0);
  for (unsigned i = 0; i < 4; ++i) out[128 + mine + i] = shared[128 + mine + i];
}

__global__ void write_halves(unsigned short* at, int apart) {
  at[apart != 0 ? blockIdx.x : 0] = static_cast<unsigned short>(blockIdx.x + 5);
}
__global__ void copy_word(const unsigned* from, unsigned* to) {
  *to = *from;
}

__global__ void walk_shared(unsigned stride, float* out) {
  float* at = shared<float>() + threadIdx.x * stride;
  *at = static_cast<float>(threadIdx.x);
  __syncwarp();
  out[threadIdx.x] = *at;
}
__global__ void walk_shared_by_fours(unsigned stride, float4* out) {
  float4* at = shared<float4>();
  const auto i = static_cast<float>(threadIdx.x);
  at[threadIdx.x * stride] = float4{i, i, i, i};
  __syncwarp();
  out[threadIdx.x] = at[threadIdx.x * stride];
  out[threadIdx.x] = at[0];
}
struct Triple {
  std::uint64_t words[3];
};
__global__ void copy_triples(const std::uint64_t* from, std::uint64_t* to) {
  const unsigned at = threadIdx.x * 4;
  auto* mine = reinterpret_cast<Triple*>(shared<std::uint64_t>() + at);
  *mine = *reinterpret_cast<const Triple*>(from + at);
  __syncwarp();
  *reinterpret_cast<Triple*>(to + at) = *mine;
}
__global__ void walk_device(const float* x, unsigned stride, unsigned n, float* out) {
  float sum = 0;
  for (unsigned i = 0; i < n + threadIdx.x % 2; ++i) sum += x[(i * 32 + threadIdx.x) * stride];
  out[threadIdx.x] = sum;
}
__global__ void load_matrix_rows(unsigned pitch, unsigned* out) {
  std::byte* row = shared_bytes() + threadIdx.x * pitch;
  for (unsigned i = 0; i < 4; ++i) reinterpret_cast<unsigned*>(row)[i] = threadIdx.x;
  __syncwarp();
  unsigned words[4];
  load_matrices(row, false, words);
  for (unsigned i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = words[i];
}

}  // namespace simt::test
