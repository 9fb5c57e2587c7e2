#include "kernels/weights/quant_block_reader.h"

#include <cstring>
#include <utility>

#include "kernels/reference/dequant_blocks.h"
#include "kernels/weights/quant_format.h"

// kernels/reference/dequant*.cpp describes the formats; tests compare the two.
namespace satchel::kernels {
namespace {

std::uint8_t byte_of(int bits) {
  return static_cast<std::uint8_t>(bits);
}

// Bit i as byte i, 0 or 1: eight at once, where a loop over them is several times slower.
std::uint64_t bits_as_bytes(std::uint8_t bits) {
  const std::uint64_t each = bits * 0x0101010101010101u & 0x8040201008040201u;
  return (each + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

void read_nibbles(const std::byte* at, std::uint8_t* codes) {
  for (std::size_t i = 0; i < 16; ++i) {
    codes[i] = byte_of(byte_at(at, i) & 15);
    codes[i + 16] = byte_of(byte_at(at, i) >> 4);
  }
}

// fp16 scale, fp16 minimum, fifth bits, nibbles: those that the type has.
template <bool kMinimum, bool kFifth>
void read_block(const std::byte* at, QuantBlock& out) {
  out.scale = load_number<Half>(at);
  at += sizeof(Half);
  if constexpr (kMinimum) {
    out.minimum = load_number<Half>(at);
    at += sizeof(Half);
  }
  read_nibbles(kFifth ? at + 4 : at, out.codes.data());
  if constexpr (kFifth) {
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t eight;
      std::memcpy(&eight, &out.codes[8 * i], sizeof eight);
      eight |= bits_as_bytes(static_cast<std::uint8_t>(at[i])) << 4;
      std::memcpy(&out.codes[8 * i], &eight, sizeof eight);
    }
  }
}

void read_q8_0(const std::byte* at, QuantBlock& out) {
  out.scale = load_number<Half>(at);
  std::memcpy(out.codes.data(), at + sizeof(Half), kBlockValues);
}

void read_mxfp4(const std::byte* at, QuantBlock& out) {
  out.exponent = byte_of(byte_at(at, 0));
  read_nibbles(at + 1, out.codes.data());
}

// The 2-bit codes of Q2_K and Q3_K.
void read_pairs(const std::byte* at, std::uint8_t* codes) {
  for (std::size_t run = 0; run < 8; ++run, codes += 32)
    for (std::size_t i = 0; i < 32; ++i)
      codes[i] = byte_of(byte_at(at, run / 4 * 32 + i) >> (run % 4 * 2) & 3);
}

void read_q2_k(const std::byte* at, QuantBlock& out) {
  for (std::size_t i = 0; i < 16; ++i) {
    out.scale_codes[i] = byte_of(byte_at(at, i) & 15);
    out.scale_codes[16 + i] = byte_of(byte_at(at, i) >> 4);
  }
  read_pairs(at + 16, out.codes.data());
  out.scale = load_number<Half>(at + 80);
  out.minimum = load_number<Half>(at + 82);
}

void read_q3_k(const std::byte* at, QuantBlock& out) {
  read_pairs(at + 32, out.codes.data());
  for (std::size_t run = 0; run < 8; ++run)
    for (std::size_t i = 0; i < 32; ++i)
      out.codes[run * 32 + i] =
          byte_of(out.codes[run * 32 + i] | ((byte_at(at, i) >> run) & 1) << 2);
  for (std::size_t i = 0; i < 16; ++i) out.scale_codes[i] = byte_of(scale_of_q3_k(at + 96, i) + 32);
  out.scale = load_number<Half>(at + 108);
}

// Q4_K, and Q5_K, which has 32 bytes of fifth bits before the nibbles.
template <bool kFifth>
void read_q4_k(const std::byte* at, QuantBlock& out) {
  out.scale = load_number<Half>(at);
  out.minimum = load_number<Half>(at + 2);
  for (std::size_t group = 0; group < 8; ++group) {
    const ScaleMin both = scale_min(at + 4, group);
    out.scale_codes[group] = byte_of(both.scale);
    out.scale_codes[8 + group] = byte_of(both.min);
    const std::byte* nibbles = at + (kFifth ? 48 : 16) + group / 2 * 32;
    std::uint8_t* codes = &out.codes[group * kBlockValues];
    for (std::size_t i = 0; i < kBlockValues; ++i) {
      codes[i] = byte_of((byte_at(nibbles, i) >> (group % 2 * 4)) & 15);
      if constexpr (kFifth)
        codes[i] = byte_of(codes[i] | ((byte_at(at + 16, i) >> group) & 1) << 4);
    }
  }
}

void read_q6_k(const std::byte* at, QuantBlock& out) {
  std::uint8_t* codes = out.codes.data();
  for (std::size_t run = 0; run < 8; ++run) {
    const std::byte* low = at + run / 4 * 64 + run % 2 * 32;
    const std::byte* high = at + 128 + run / 4 * 32;
    const std::size_t nibble = run / 2 % 2 * 4, pair = run % 4 * 2;
    for (std::size_t i = 0; i < 32; ++i)
      *codes++ = byte_of((byte_at(low, i) >> nibble & 15) | (byte_at(high, i) >> pair & 3) << 4);
  }
  for (std::size_t i = 0; i < 16; ++i)
    out.scale_codes[i] = byte_of(load_number<std::int8_t>(at + 192 + i) + 128);
  out.scale = load_number<Half>(at + 208);
}

void read_iq4_xs(const std::byte* at, QuantBlock& out) {
  out.scale = load_number<Half>(at);
  for (std::size_t group = 0; group < 8; ++group) {
    out.scale_codes[group] = byte_of(scale_of_iq4_xs(at, group) + 32);
    read_nibbles(at + 8 + group * 16, &out.codes[group * kBlockValues]);
  }
}

constexpr std::pair<WeightType, QuantBlockReader> kReaders[] = {
    {WeightType::q4_0, read_block<false, false>},
    {WeightType::q4_1, read_block<true, false>},
    {WeightType::q5_0, read_block<false, true>},
    {WeightType::q5_1, read_block<true, true>},
    {WeightType::q8_0, read_q8_0},
    {WeightType::q2_k, read_q2_k},
    {WeightType::q3_k, read_q3_k},
    {WeightType::q4_k, read_q4_k<false>},
    {WeightType::q5_k, read_q4_k<true>},
    {WeightType::q6_k, read_q6_k},
    {WeightType::iq4_nl, read_block<false, false>},
    {WeightType::iq4_xs, read_iq4_xs},
    {WeightType::mxfp4, read_mxfp4},
};
static_assert(std::size(kReaders) == std::size(kQuantFormats));

}  // namespace

QuantBlockReader quant_block_reader(WeightType type) {
  for (const auto& [of, read] : kReaders)
    if (of == type) return read;
  return nullptr;
}

}  // namespace satchel::kernels
