#include <cfloat>
#include <cmath>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/rows/rows.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;

// A thread is a block of values: states are packed once in hundreds of tokens.
__global__ void __launch_bounds__(kThreads)
    pack_blocks(const float* x, std::size_t n_values, float* scales, signed char* codes) {
  wait_for_launch_before();
  const std::size_t block = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::size_t first = block * kPackedBlock;
  if (first >= n_values) return;
  const std::size_t end = n_values - first < kPackedBlock ? n_values : first + kPackedBlock;
  unsigned most = 0;  // bits of |x| rise with it; infinity and NaN are the largest
  for (std::size_t i = first; i < end; ++i) {
    const unsigned bits = __float_as_uint(x[i]) & 0x7fffffffu;
    most = bits > most ? bits : most;
  }
  const float largest = __uint_as_float(most);
  float scale = most < 0x7f800000u ? largest / 127.0f : NAN;
  if (scale < FLT_MIN) scale = 0;
  scales[block] = scale;
  const float inverse = scale > 0 ? 1.0f / scale : 0.0f;
  for (std::size_t i = first; i < end; ++i)
    codes[i] = inverse == 0 ? 0 : static_cast<signed char>(__float2int_rn(x[i] * inverse));
}

__global__ void __launch_bounds__(kThreads)
    unpack_blocks(const float* scales, const signed char* codes, std::size_t n_values, float* x) {
  wait_for_launch_before();
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n_values) x[i] = static_cast<float>(codes[i]) * scales[i / kPackedBlock];
}

}  // namespace

cudaError_t pack_values(Queue& queue, const float* x, std::size_t n_values, std::byte* packed) {
  auto* const scales = reinterpret_cast<float*>(packed);
  return launch(queue, {blocks_of(packed_blocks(n_values), kThreads), kThreads}, pack_blocks, x,
                n_values, scales, reinterpret_cast<signed char*>(scales + packed_blocks(n_values)));
}

cudaError_t unpack_values(Queue& queue, const std::byte* packed, std::size_t n_values, float* x) {
  const auto* const scales = reinterpret_cast<const float*>(packed);
  return launch(queue, {blocks_of(n_values, kThreads), kThreads}, unpack_blocks, scales,
                reinterpret_cast<const signed char*>(scales + packed_blocks(n_values)), n_values,
                x);
}

}  // namespace satchel::kernels::cuda
