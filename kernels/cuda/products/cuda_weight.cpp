#include "kernels/cuda/products/cuda_weight.h"

#include <vector>

#include "kernels/cuda/weights/tile_pack.h"
#include "kernels/reference/dequant.h"

namespace satchel::kernels::cuda {
namespace {

std::vector<std::byte> as_floats(const WeightSource& source) {
  std::vector<std::byte> out(source.n_out * source.n_in * sizeof(float));
  const std::size_t row = source.bytes.size() / std::max<std::size_t>(source.n_out, 1);
  for (std::size_t r = 0; r < source.n_out; ++r)
    dequantise_row(source.type, source.bytes.data() + r * row, source.n_in,
                   reinterpret_cast<float*>(out.data()) + r * source.n_in);
  return out;
}

}  // namespace

Result<CudaWeight> CudaWeight::make(Device& device, const WeightSource& source) {
  source.check();
  const TileShape shape = tile_shape(source.type);
  const bool has_floats = weight_type_traits(source.type).block_values == 1;
  DeviceMatrix matrix{.type = source.type,
                      .n_out = static_cast<unsigned>(source.n_out),
                      .n_in = static_cast<unsigned>(source.n_in)};
  std::vector<std::byte> made;
  std::span<const std::byte> bytes = source.bytes;
  if (shape.low_bits != 0) {
    matrix.plan = tile_plan(shape, source.n_in);
    made = pack_tiles(source);
    bytes = made;
  } else if (!has_floats) {
    matrix.type = WeightType::f32;
    made = as_floats(source);
    bytes = made;
  }
  SATCHEL_TRY_ASSIGN(Buffer memory, device.allocate(bytes.size()));
  SATCHEL_TRY(device.upload(memory.data(), bytes));
  if (source.done_with) source.done_with(source.bytes);
  matrix.bytes = memory.data();
  return CudaWeight(source, std::move(memory), matrix);
}

}  // namespace satchel::kernels::cuda
