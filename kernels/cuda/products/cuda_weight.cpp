#include "kernels/cuda/products/cuda_weight.h"

#include <algorithm>

#include "kernels/cuda/products/row_factors.h"
#include "kernels/cuda/weights/over_threads.h"
#include "kernels/cuda/weights/tile_pack.h"
#include "kernels/reference/dequant.h"

namespace satchel::kernels::cuda {
namespace {

constexpr std::size_t kPartBytes =
    std::size_t{128} << 10;  // chosen: 0.2 ms of a thread that packs, which takes 20 µs to start

// A matrix in pieces of as many bytes: tiles, or rows.
struct Pieces {
  std::size_t n = 0, bytes = 0, n_rows = 0;  // bytes and rows: of a piece
};

// Makes the pieces of a matrix part by part, on several threads, and uploads them.
template <class Make>
Result<void> upload_pieces(Device& device, std::byte* to, const WeightSource& source,
                           const Pieces& pieces, const Make& make) {
  const std::size_t row = source.bytes.size() / std::max<std::size_t>(source.n_out, 1);
  const std::size_t grain = std::max<std::size_t>(kPartBytes / pieces.bytes, 1);
  return device.upload_made(
      to, pieces.n, pieces.bytes, [&](std::size_t first, std::size_t n, std::byte* out) {
        over_threads(n, grain, [&](std::size_t of_stretch, std::size_t n_of_part) {
          make(first + of_stretch, n_of_part, out + of_stretch * pieces.bytes);
        });
        const std::size_t end = std::min((first + n) * pieces.n_rows, source.n_out);
        if (source.done_with)
          source.done_with(source.bytes.subspan(first * pieces.n_rows * row,
                                                (end - first * pieces.n_rows) * row));
      });
}

void put_floats(const WeightSource& source, std::size_t first, std::size_t n, std::byte* out) {
  const std::size_t row = source.bytes.size() / source.n_out;
  for (std::size_t r = 0; r < n; ++r)
    dequantise_row(source.type, source.bytes.data() + (first + r) * row, source.n_in,
                   reinterpret_cast<float*>(out) + r * source.n_in);
}

}  // namespace

Result<CudaWeight> CudaWeight::make(Device& device, const WeightSource& source) {
  source.check();
  const TileShape shape = tile_shape(source.type);
  const bool has_floats = weight_type_traits(source.type).block_values == 1;
  DeviceMatrix matrix{.type = source.type,
                      .n_out = static_cast<unsigned>(source.n_out),
                      .n_in = static_cast<unsigned>(source.n_in)};
  Pieces pieces{.n = source.n_out, .bytes = source.n_in * sizeof(float), .n_rows = 1};
  if (shape.low_bits != 0) {
    matrix.plan = tile_plan(shape, source.n_in);
    pieces = {.n = (source.n_out + kTileRows - 1) / kTileRows,
              .bytes = matrix.plan.tile_bytes,
              .n_rows = kTileRows};
  } else if (!has_floats) {
    matrix.type = WeightType::f32;
  }
  const std::size_t n_bytes = has_floats ? source.bytes.size() : pieces.n * pieces.bytes;
  const std::size_t factors_at = padded256(n_bytes);
  SATCHEL_TRY_ASSIGN(Buffer memory, device.allocate(factors_at + source.n_out * sizeof(float)));
  if (has_floats) {
    SATCHEL_TRY(device.upload(memory.data(), source.bytes));
    if (source.done_with) source.done_with(source.bytes);
  } else {
    SATCHEL_TRY(upload_pieces(device, memory.data(), source, pieces,
                              [&](std::size_t first, std::size_t n, std::byte* out) {
                                if (matrix.has_tiles())
                                  pack_tiles(source, first, n, out);
                                else
                                  put_floats(source, first, n, out);
                              }));
  }
  matrix.bytes = memory.data();
  auto* factors = reinterpret_cast<float*>(memory.data() + factors_at);
  SATCHEL_TRY(device.check(find_row_factors(device.queue(), matrix, factors)));
  matrix.factors = factors;
  return CudaWeight(source, std::move(memory), matrix);
}

}  // namespace satchel::kernels::cuda
