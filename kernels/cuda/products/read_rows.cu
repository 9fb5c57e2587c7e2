// Rows of weights, read back value by value.
#include "kernels/cuda/products/matmul.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/products/float_at.h"
#include "kernels/cuda/products/scales.h"
#include "kernels/cuda/weights/tile_types.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;

__device__ __forceinline__ unsigned bits_of(const std::byte* plane, unsigned words, unsigned bits,
                                            unsigned chunk, const CodePlace& at) {
  const BitPlace place = bit_place(bits, at);
  const auto* of_lane = reinterpret_cast<const std::uint32_t*>(plane) +
                        (std::size_t{chunk} * kWarp + at.thread) * words;
  return of_lane[place.word] >> place.bit & ((1u << bits) - 1);
}

// One value of a tile, rounded as the file's format rounds it.
template <WeightType kType>
__device__ float tile_value(const DeviceMatrix& table, unsigned row, unsigned k) {
  constexpr TileShape kShape = tile_shape(kType);
  const std::byte* tile = table.bytes + std::size_t{row / kTileRows} * table.plan.tile_bytes;
  const unsigned chunk = k / kChunkValues, of_chunk = k % kChunkValues, of_tile = row % kTileRows;
  const CodePlace at = code_place(of_tile, of_chunk);
  unsigned code = bits_of(tile + table.plan.low_at, kShape.low_bits, kShape.low_bits, chunk, at);
  if constexpr (kShape.high_bits != 0)
    code |= bits_of(tile + table.plan.high_at, kShape.high_bits, kShape.high_bits, chunk, at)
            << kShape.low_bits;
  int value = static_cast<int>(code) - kShape.offset;
  if constexpr (kShape.has_table) {
    constexpr UnsignedTable kTable = tile_table(kType);
    value = kTable.bytes[code] - kShape.offset;
  }
  Scales<kType> scales;
  scales.template load<Reads::again>(
      ThreadPlanes<kType>(tile, table.plan, chunk, at.thread, of_tile));
  const unsigned group = of_chunk / kShape.group_values;
  float scale = 0, minimum = 0;
#pragma unroll
  for (unsigned g = 0; g < kShape.groups(); ++g) {  // what is not indexed stays in registers
    scale = g == group ? scales.scale(g) : scale;
    minimum = g == group ? scales.minimum(g) : minimum;
  }
  const float scaled = scale * static_cast<float>(value);
  return kShape.has_minimum ? scaled + minimum : scaled;
}

// A block some values of a row. Ids are the grid's first index, which has room for any prompt.
template <class Read>
__global__ void __launch_bounds__(kThreads)
    read_values(DeviceMatrix table, const std::int32_t* ids, float* out, Read read) {
  wait_for_launch_before();
  const unsigned k = blockIdx.y * kThreads + threadIdx.x;
  if (k >= table.n_in) return;
  out[std::size_t{blockIdx.x} * table.n_in + k] =
      read(table, static_cast<unsigned>(ids[blockIdx.x]), k);
}

struct ReadFloat {
  __device__ float operator()(const DeviceMatrix& table, unsigned row, unsigned k) const {
    return float_at(table, std::size_t{row} * table.n_in + k);
  }
};
template <WeightType kType>
struct ReadTile {
  __device__ float operator()(const DeviceMatrix& table, unsigned row, unsigned k) const {
    return tile_value<kType>(table, row, k);
  }
};

template <class Read>
cudaError_t read_all(Queue& queue, const DeviceMatrix& table, const std::int32_t* ids,
                     std::size_t n_ids, float* out, const Read& read) {
  const dim3 grid(static_cast<unsigned>(n_ids), blocks_of(table.n_in, kThreads));
  return launch(queue, {grid, kThreads}, read_values<Read>, table, ids, out, read);
}

}  // namespace

cudaError_t read_rows(Queue& queue, const DeviceMatrix& table, const std::int32_t* ids,
                      std::size_t n_ids, float* out) {
  if (!table.has_tiles()) return read_all(queue, table, ids, n_ids, out, ReadFloat());
  return with_tile_type(table.type, [&](auto type) {
    return read_all(queue, table, ids, n_ids, out, ReadTile<decltype(type)::value>());
  });
}

}  // namespace satchel::kernels::cuda
