#include "kernels/cuda/weights/tile_pack.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/cuda/weights/tile_layout.h"
#include "kernels/weights/quant_block_reader.h"

namespace satchel::kernels::cuda {
namespace {

// Four codes of a row, a byte each, as registers hold them.
std::uint32_t four_codes(const std::uint8_t* codes) {
  std::uint32_t word;
  std::memcpy(&word, codes, sizeof word);
  return word;
}
constexpr std::uint32_t in_each_byte(unsigned mask) {
  return 0x01010101u * mask;
}

// Codes of `kBits` bits, from bit kFirst of each byte on, of two steps' four registers as the words
// of a thread: bit_place() for a whole chunk.
template <unsigned kBits, unsigned kFirst>
void put_words(const std::uint32_t (&registers)[kChunkSteps][4], std::uint32_t* words) {
  constexpr std::uint32_t kMask = in_each_byte((1u << kBits) - 1);
  std::uint32_t out[kBits] = {};
  for (unsigned step = 0; step < kChunkSteps; ++step)
    for (unsigned reg = 0; reg < 4; ++reg) {
      constexpr CodePlace kThread = {};
      const BitPlace at = bit_place(kBits, {kThread.thread, step, reg, 0});
      out[at.word] |= (registers[step][reg] >> kFirst & kMask) << at.bit;
    }
  std::memcpy(words, out, sizeof out);
}

// Tiles of one type. What differs from type to type are constants, so that a word is a few shifts
// and no value is moved on its own.
template <WeightType kType>
class TilePacker {
  static constexpr TileShape kShape = tile_shape(kType);
  static constexpr unsigned kUnit = kShape.unit_values;
  static constexpr unsigned kSpan = std::max(kUnit, kChunkValues);  // whole chunks, whole units
  static constexpr unsigned kUnits = kSpan / kUnit, kChunks = kSpan / kChunkValues;
  // Of all rows, in file order; what the matrix lacks is 0.
  using Blocks = std::array<std::array<QuantBlock, kUnits>, kTileRows>;

 public:
  static void pack(const std::byte* rows, std::size_t n_rows, std::size_t n_in, std::byte* tile) {
    const TilePlan plan = tile_plan(kShape, n_in);
    const QuantBlockReader read = quant_block_reader(kType);
    const std::size_t unit_bytes = *row_bytes(kType, kUnit), row_bytes = n_in / kUnit * unit_bytes;
    Blocks blocks = {};
    for (std::size_t first = 0; first < n_in; first += kSpan) {
      const std::size_t n_units = std::min<std::size_t>(kUnits, (n_in - first) / kUnit);
      for (std::size_t u = n_units; u < kUnits; ++u)
        for (auto& of_row : blocks) of_row[u] = {};
      for (std::size_t row = 0; row < n_rows; ++row)
        for (std::size_t u = 0; u < n_units; ++u) {
          QuantBlock& block = blocks[row][u];
          read(rows + row * row_bytes + (first / kUnit + u) * unit_bytes, block);
          if constexpr (kShape.low_bits == 8)  // signed in the file, unsigned here
            for (unsigned i = 0; i < kUnit; ++i) block.codes[i] ^= 0x80u;
        }
      put_span(blocks, plan, first / kChunkValues, tile);
    }
  }

 private:
  static void put_span(const Blocks& blocks, const TilePlan& plan, std::size_t first_chunk,
                       std::byte* tile) {
    const std::size_t n_chunks = std::min<std::size_t>(kChunks, plan.n_chunks - first_chunk);
    for (std::size_t chunk = 0; chunk < n_chunks; ++chunk) {
      put_codes(blocks, plan, chunk, first_chunk + chunk, tile);
      for (unsigned row = 0; row < kTileRows; ++row)
        put_scales(blocks[row], chunk,
                   tile + plan.scales_at +
                       ((first_chunk + chunk) * kTileRows + row) * kShape.scale_bytes());
    }
    if constexpr (kShape.has_factors())
      for (unsigned row = 0; row < kTileRows; ++row)
        put_factors(blocks[row][0],
                    tile + plan.factors_at +
                        (first_chunk / kChunks * kTileRows + row) * kShape.kinds() * sizeof(Half));
  }

  // chunk: of the span.
  static const std::uint8_t* codes_at(const Blocks& blocks, unsigned row, std::size_t value) {
    return &blocks[row][value / kUnit].codes[value % kUnit];
  }
  static void put_codes(const Blocks& blocks, const TilePlan& plan, std::size_t chunk,
                        std::size_t of_matrix, std::byte* tile) {
    auto* low =
        reinterpret_cast<std::uint32_t*>(tile + plan.low_at) + of_matrix * kWarp * kShape.low_bits;
    auto* high = reinterpret_cast<std::uint32_t*>(tile + plan.high_at) +
                 of_matrix * kWarp * kShape.high_bits;
    for (unsigned thread = 0; thread < kWarp; ++thread) {
      std::uint32_t registers[kChunkSteps][4];
      for (unsigned step = 0; step < kChunkSteps; ++step)
        for (unsigned reg = 0; reg < 4; ++reg)
          registers[step][reg] = four_codes(
              codes_at(blocks, thread / 4 + reg % 2 * 8,
                       chunk * kChunkValues + step * kStepValues + reg / 2 * 16 + thread % 4 * 4));
      put_words<kShape.low_bits, 0>(registers, low + thread * kShape.low_bits);
      if constexpr (kShape.high_bits != 0)
        put_words<kShape.high_bits, kShape.low_bits>(registers, high + thread * kShape.high_bits);
    }
  }

  static Half factor_of(const QuantBlock& block, unsigned kind) {
    return kind == 0 ? block.scale : block.minimum;
  }
  // Of a row's chunk.
  static void put_scales(const std::array<QuantBlock, kUnits>& blocks, std::size_t chunk,
                         std::byte* to) {
    constexpr unsigned kGroups = kShape.groups(), kOfUnit = kUnit / kShape.group_values;
    for (unsigned kind = 0; kind < kShape.kinds(); ++kind)
      for (unsigned g = 0; g < kGroups; ++g) {
        const std::size_t group = chunk * kGroups + g;
        const QuantBlock& block = blocks[group / kOfUnit];
        if constexpr (kShape.form == ScaleForm::half) {
          const Half factor = factor_of(block, kind);
          std::memcpy(to + (kind * kGroups + g) * sizeof factor, &factor, sizeof factor);
        } else if constexpr (kShape.form == ScaleForm::exponent) {
          to[g] = std::byte{block.exponent};
        } else {
          to[kind * kGroups + g] = std::byte{block.scale_codes[kind * kOfUnit + group % kOfUnit]};
        }
      }
  }
  static void put_factors(const QuantBlock& block, std::byte* to) {
    for (unsigned kind = 0; kind < kShape.kinds(); ++kind) {
      const Half factor = factor_of(block, kind);
      std::memcpy(to + kind * sizeof factor, &factor, sizeof factor);
    }
  }
};

using Pack = void (*)(const std::byte* rows, std::size_t n_rows, std::size_t n_in, std::byte* tile);

template <std::size_t... kFormats>
Pack pack_of(WeightType type, std::index_sequence<kFormats...>) {
  Pack pack = nullptr;
  static_cast<void>(((type == kQuantFormats[kFormats].type &&
                      (pack = TilePacker<kQuantFormats[kFormats].type>::pack, true)) ||
                     ...));
  return pack;
}

}  // namespace

void pack_tiles(const WeightSource& source, std::size_t first_tile, std::size_t n_tiles,
                std::byte* out) {
  const Pack pack = pack_of(source.type, std::make_index_sequence<std::size(kQuantFormats)>());
  const std::size_t row = source.bytes.size() / std::max<std::size_t>(source.n_out, 1);
  const std::size_t tile_bytes = tile_plan(tile_shape(source.type), source.n_in).tile_bytes;
  for (std::size_t tile = first_tile; tile < first_tile + n_tiles; ++tile, out += tile_bytes) {
    const std::size_t first_row = tile * kTileRows;
    pack(source.bytes.data() + first_row * row,
         std::min<std::size_t>(kTileRows, source.n_out - first_row), source.n_in, out);
  }
}

}  // namespace satchel::kernels::cuda
