#include "support/tile_oracle.h"

#include <cstring>

#include "kernels/cuda/weights/tile_layout.h"
#include "kernels/weights/quant_block_reader.h"

namespace satchel::test {
namespace {

using namespace kernels;
using namespace kernels::cuda;

class Tile {
 public:
  Tile(const TileShape& shape, const TilePlan& plan, std::byte* tile)
      : shape_(shape), plan_(plan), tile_(tile) {}

  // The unit of one row whose first value is `first`.
  void put(unsigned row, std::size_t first, const QuantBlock& unit) {
    for (unsigned i = 0; i < shape_.unit_values; ++i) put_code(row, first + i, unit.codes[i]);
    const unsigned n_groups = shape_.unit_values / shape_.group_values;
    for (unsigned kind = 0; kind < shape_.kinds(); ++kind) {
      const Half factor = kind == 0 ? unit.scale : unit.minimum;
      if (shape_.has_factors()) put_factor(row, first / shape_.unit_values, kind, factor);
      for (unsigned g = 0; g < n_groups; ++g) {
        const std::size_t group = first / shape_.group_values + g;
        if (shape_.form == ScaleForm::half)
          put_scale(row, group, kind, &factor, sizeof factor);
        else if (shape_.form == ScaleForm::exponent)
          put_scale(row, group, kind, &unit.exponent, 1);
        else
          put_scale(row, group, kind, &unit.scale_codes[kind * n_groups + g], 1);
      }
    }
  }

 private:
  void put_bits(std::size_t plane, unsigned words, std::size_t value, unsigned row, unsigned bits,
                unsigned code) {
    const CodePlace at = code_place(row, static_cast<unsigned>(value % kChunkValues));
    const BitPlace bit = bit_place(bits, at);
    std::byte* to =
        tile_ + plane + ((value / kChunkValues * kWarp + at.thread) * words + bit.word) * 4;
    std::uint32_t word;
    std::memcpy(&word, to, sizeof word);
    word |= code << bit.bit;
    std::memcpy(to, &word, sizeof word);
  }
  // Codes of 8 bits are signed in the file, and unsigned here.
  void put_code(unsigned row, std::size_t value, unsigned code) {
    if (shape_.low_bits == 8) code ^= 0x80u;
    const unsigned low = code & ((1u << shape_.low_bits) - 1);
    put_bits(plan_.low_at, shape_.low_bits, value, row, shape_.low_bits, low);
    if (shape_.high_bits != 0)
      put_bits(plan_.high_at, shape_.high_bits, value, row, shape_.high_bits,
               code >> shape_.low_bits);
  }
  void put_scale(unsigned row, std::size_t group, unsigned kind, const void* scale,
                 std::size_t bytes) {
    const std::size_t chunk = group / shape_.groups(), of_chunk = group % shape_.groups();
    std::memcpy(tile_ + plan_.scales_at + (chunk * kTileRows + row) * shape_.scale_bytes() +
                    (kind * shape_.groups() + of_chunk) * bytes,
                scale, bytes);
  }
  void put_factor(unsigned row, std::size_t unit, unsigned kind, Half factor) {
    std::memcpy(tile_ + plan_.factors_at +
                    ((unit * kTileRows + row) * shape_.kinds() + kind) * sizeof(Half),
                &factor, sizeof factor);
  }

  TileShape shape_;
  TilePlan plan_;
  std::byte* tile_;
};

}  // namespace

std::vector<std::byte> tiles_value_by_value(const WeightSource& source) {
  const TileShape shape = tile_shape(source.type);
  const TilePlan plan = tile_plan(shape, source.n_in);
  const std::size_t n_tiles = (source.n_out + kTileRows - 1) / kTileRows;
  const std::size_t unit_bytes = *row_bytes(source.type, shape.unit_values);
  const QuantBlockReader read = quant_block_reader(source.type);
  std::vector<std::byte> out(n_tiles * plan.tile_bytes);
  const std::byte* from = source.bytes.data();
  for (std::size_t r = 0; r < source.n_out; ++r) {
    Tile tile(shape, plan, out.data() + r / kTileRows * plan.tile_bytes);
    for (std::size_t first = 0; first < source.n_in; first += shape.unit_values) {
      QuantBlock unit = {};
      read(from, unit);
      tile.put(static_cast<unsigned>(r % kTileRows), first, unit);
      from += unit_bytes;
    }
  }
  return out;
}

}  // namespace satchel::test
