#include "kernels/cuda/half_products.h"

#include "kernels/cuda/half.h"
#include "kernels/cuda/lane_chunk.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/shared_memory.h"
#include "kernels/cuda/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / kWarp;

struct MostBits {
  unsigned of_warp[kWarps];
};

// The largest magnitude of a row, as bits: those of floats without sign rise with them, infinity
// and NaN last.
__device__ unsigned most_bits(const float* x, unsigned n, MostBits& memory) {
  unsigned most = 0;
  for (unsigned i = threadIdx.x; i < n; i += kThreads) {
    const unsigned bits = __float_as_uint(x[i]) & 0x7fffffffu;
    most = bits > most ? bits : most;
  }
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const unsigned other = __shfl_xor_sync(~0u, most, lanes);
    most = other > most ? other : most;
  }
  if (threadIdx.x % kWarp == 0) memory.of_warp[threadIdx.x / kWarp] = most;
  __syncthreads();
  for (unsigned w = 0; w < kWarps; ++w) most = memory.of_warp[w] > most ? memory.of_warp[w] : most;
  return most;
}

// The exponent that brings the largest to 1 … 2; the power and its inverse are normal numbers.
__device__ __forceinline__ int exponent_of(unsigned most) {
  constexpr unsigned kInfinity = 0x7f800000u, kSmallest = 0x00800000u;
  if (most >= kInfinity || most < kSmallest) return 0;
  const int exponent = 127 - static_cast<int>(most >> 23);
  return exponent > 126 ? 126 : exponent;
}
__device__ __forceinline__ float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) << 23);
}

// A block a token.
__global__ void __launch_bounds__(kThreads)
    round_tokens(const float* x, unsigned n_in, std::uint16_t* to, float* inverse) {
  const float* row = x + std::size_t{blockIdx.x} * n_in;
  const int exponent = exponent_of(most_bits(row, n_in, shared_memory<MostBits>()));
  const float factor = power_of_two(exponent);
  for (unsigned i = threadIdx.x; i < n_in; i += kThreads)
    to[std::size_t{blockIdx.x} * n_in + i] = half_nearest(row[i] * factor);
  if (threadIdx.x == 0) inverse[blockIdx.x] = power_of_two(-exponent);
}

// Four values side by side, as halves.
template <WeightType kType>
__device__ __forceinline__ uint2 four_halves(std::uint32_t codes, float scale, float minimum) {
  constexpr TileShape kShape = tile_shape(kType);
  std::uint32_t pairs[2] = {};
  for (unsigned i = 0; i < 4; ++i) {
    const int value = static_cast<int>(codes >> 8 * i & 255) - kShape.offset;
    float whole = scale * static_cast<float>(value);
    if constexpr (kShape.has_minimum) whole += minimum;
    pairs[i / 2] |= std::uint32_t{half_nearest(whole)} << 16 * (i % 2);
  }
  return {pairs[0], pairs[1]};
}

// A warp a chunk of a tile, a block kWarps of them.
template <WeightType kType>
__global__ void __launch_bounds__(kThreads)
    round_tiles(DeviceMatrix weight, unsigned first_tile, unsigned n_rows, std::uint16_t* to) {
  constexpr TileShape kShape = tile_shape(kType);
  const unsigned chunk = blockIdx.x * kWarps + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  if (chunk >= weight.plan.n_chunks) return;
  LaneChunk<kType> from;
  const std::byte* tile =
      weight.bytes + std::size_t{first_tile + blockIdx.y} * weight.plan.tile_bytes;
  from.template load<Reads::once>(LanePlanes<kType>(tile, weight.plan, chunk, lane, lane / 4));
#pragma unroll
  for (unsigned s = 0; s < kChunkSteps; ++s) {
    std::uint32_t a[4];
    from.codes.step(s, a);
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned row = blockIdx.y * kTileRows + lane / 4 + 8 * (r % 2);
      const unsigned k = chunk * kChunkValues + s * kStepValues + 4 * (lane % 4) + 16 * (r / 2);
      const RowPair rows = from.rows((s * kStepValues + 16 * (r / 2)) / kShape.group_values);
      if (row < n_rows && k < weight.n_in)
        *reinterpret_cast<uint2*>(to + std::size_t{row} * weight.n_in + k) =
            four_halves<kType>(a[r], rows.scale[r % 2], rows.minimum[r % 2]);
    }
  }
}

template <WeightType kType>
__global__ void __launch_bounds__(kThreads)
    round_floats(const std::byte* from, std::size_t n, std::uint16_t* to) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= n) return;
  if constexpr (kType == WeightType::f32) {
    to[i] = half_nearest(reinterpret_cast<const float*>(from)[i]);
  } else {
    const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(from)[i];
    to[i] =
        kType == WeightType::f16 ? bits : half_nearest(__uint_as_float(std::uint32_t{bits} << 16));
  }
}

// A thread a value of a token's row.
__global__ void __launch_bounds__(kThreads)
    put_values(const float* from, const float* inverse, const float* bias, unsigned n_rows,
               float* out, unsigned n_out, bool is_added) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x, token = blockIdx.y;
  if (row >= n_rows) return;
  float sum = from[std::size_t{token} * n_rows + row] * inverse[token];
  if (bias != nullptr) sum += bias[row];
  float* to = out + std::size_t{token} * n_out + row;
  *to = is_added ? *to + sum : sum;
}

template <WeightType kType>
cudaError_t round_floats_of(Queue& queue, const DeviceMatrix& weight, std::size_t first_row,
                            std::size_t n_rows, std::uint16_t* to) {
  constexpr std::size_t kBytes = kType == WeightType::f32 ? 4 : 2;
  const std::size_t n = n_rows * weight.n_in;
  return launch(queue, {blocks_of(n, kThreads), kThreads}, round_floats<kType>,
                weight.bytes + first_row * weight.n_in * kBytes, n, to);
}

}  // namespace

cudaError_t round_activations(Queue& queue, const float* x, std::size_t n_tokens, std::size_t n_in,
                              std::uint16_t* to, float* inverse) {
  return launch(queue, {static_cast<unsigned>(n_tokens), kThreads, sizeof(MostBits)}, round_tokens,
                x, static_cast<unsigned>(n_in), to, inverse);
}

cudaError_t round_rows(Queue& queue, const DeviceMatrix& weight, std::size_t first_row,
                       std::size_t n_rows, std::uint16_t* to) {
  if (weight.type == WeightType::f32)
    return round_floats_of<WeightType::f32>(queue, weight, first_row, n_rows, to);
  if (weight.type == WeightType::f16)
    return round_floats_of<WeightType::f16>(queue, weight, first_row, n_rows, to);
  if (weight.type == WeightType::bf16)
    return round_floats_of<WeightType::bf16>(queue, weight, first_row, n_rows, to);
  const dim3 grid(blocks_of(weight.plan.n_chunks, kWarps), blocks_of(n_rows, kTileRows));
  return with_tile_type(weight.type, [&](auto type) {
    return launch(queue, {grid, kThreads}, round_tiles<decltype(type)::value>, weight,
                  static_cast<unsigned>(first_row / kTileRows), static_cast<unsigned>(n_rows), to);
  });
}

cudaError_t put_rows(Queue& queue, const Product& product, std::size_t first_row,
                     std::size_t n_rows, const float* from, const float* inverse,
                     std::size_t n_tokens) {
  const dim3 grid(blocks_of(n_rows, kThreads), static_cast<unsigned>(n_tokens));
  const float* bias = product.bias == nullptr ? nullptr : product.bias + first_row;
  return launch(queue, {grid, kThreads}, put_values, from, inverse, bias,
                static_cast<unsigned>(n_rows), product.out + first_row, product.weight->n_out,
                product.is_added);
}

}  // namespace satchel::kernels::cuda
