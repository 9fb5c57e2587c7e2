// For each row of a matrix the power of two that fits it into fp16: a warp 16 rows.
#include "kernels/cuda/products/row_factors.h"

#include <algorithm>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/products/activation_sources.h"
#include "kernels/cuda/products/float_at.h"
#include "kernels/cuda/products/half_factors.h"
#include "kernels/cuda/products/scales.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;

// The largest |code - offset|.
template <WeightType kType>
constexpr int largest_code() {
  constexpr TileShape kShape = tile_shape(kType);
  if constexpr (kShape.has_table) {
    constexpr UnsignedTable kTable = tile_table(kType);
    int most = 0;
    for (const auto each : kTable.bytes)
      most = std::max({most, each - kShape.offset, kShape.offset - each});
    return most;
  }
  const int above = (1 << (kShape.low_bits + kShape.high_bits)) - 1 - kShape.offset;
  return std::max(above, kShape.offset);
}

__device__ __forceinline__ void put_factor(float* out, unsigned row, unsigned bits) {
  out[row] = factor_to_halves(bits < kInfinityBits ? bits : 0);
}

// Two threads a row of a tile, every other chunk each.
template <WeightType kType>
__global__ void __launch_bounds__(kThreads) find_tile_factors(DeviceMatrix matrix, float* out) {
  wait_for_launch_before();
  constexpr TileShape kShape = tile_shape(kType);
  const unsigned tile = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  const unsigned thread = threadIdx.x % kWarp, row = thread % kTileRows;
  if (tile * kTileRows >= matrix.n_out) return;
  const std::byte* bytes = matrix.bytes + std::size_t{tile} * matrix.plan.tile_bytes;
  unsigned bits = 0;
  for (unsigned chunk = thread / kTileRows; chunk < matrix.plan.n_chunks; chunk += 2) {
    Scales<kType> scales;
    scales.template load<Reads::again>(ThreadPlanes<kType>(bytes, matrix.plan, chunk, 0, row));
    for (unsigned g = 0; g < kShape.groups(); ++g)
      bits = larger(bits, magnitude_bits(fabsf(scales.scale(g)) * largest_code<kType>() +
                                         fabsf(scales.minimum(g))));
  }
  bits = larger(bits, __shfl_xor_sync(~0u, bits, kTileRows));
  if (thread < kTileRows && tile * kTileRows + row < matrix.n_out)
    put_factor(out, tile * kTileRows + row, bits);
}

// A warp a row of floats.
__global__ void __launch_bounds__(kThreads) find_float_factors(DeviceMatrix matrix, float* out) {
  wait_for_launch_before();
  const unsigned row = (blockIdx.x * kThreads + threadIdx.x) / kWarp, thread = threadIdx.x % kWarp;
  if (row >= matrix.n_out) return;
  unsigned bits = 0;
  for (unsigned k = thread; k < matrix.n_in; k += kWarp)
    bits = larger(bits, magnitude_bits(float_at(matrix, std::size_t{row} * matrix.n_in + k)));
  bits = warp_largest(bits);
  if (thread == 0) put_factor(out, row, bits);
}

}  // namespace

cudaError_t find_row_factors(Queue& queue, const DeviceMatrix& matrix, float* out) {
  const std::size_t n_warps = blocks_of(matrix.n_out, matrix.has_tiles() ? kTileRows : 1);
  const Shape shape{blocks_of(n_warps * kWarp, kThreads), kThreads};
  if (!matrix.has_tiles()) return launch(queue, shape, find_float_factors, matrix, out);
  return with_tile_type(matrix.type, [&](auto type) {
    return launch(queue, shape, find_tile_factors<decltype(type)::value>, matrix, out);
  });
}

}  // namespace satchel::kernels::cuda
