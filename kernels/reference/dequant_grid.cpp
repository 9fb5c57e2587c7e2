// The IQ types of 1 to 3 bits by plain loops: what lies where is in grid_blocks.h.
#include <array>
#include <bit>

#include "kernels/reference/dequant_blocks.h"
#include "kernels/reference/grid_blocks.h"

namespace satchel::kernels {
namespace {

// Without a branch, which would be guessed wrong every other time.
float signed_value(float value, unsigned signs, std::size_t i) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (signs >> i & 1u) << 31);
}

struct PlainOps {
  static float half(const std::byte* at) { return load_half(at); }

  static void iq1(unsigned entry, float shift, float scale, float* out) {
    for (std::size_t i = 0; i < 8; ++i) {
      const int field = static_cast<int>(entry >> (2 * i) & 3u) - 1;
      out[i] = scale * (static_cast<float>(field) + shift);
    }
  }
  static void iq2(unsigned entry, unsigned signs, float scale, float* out) {
    static constexpr std::array<float, 4> kFields = {8, 25, 43, 0};
    for (std::size_t i = 0; i < 8; ++i)
      out[i] = signed_value(scale * kFields[entry >> (2 * i) & 3u], signs, i);
  }
  static void iq3_xxs(std::uint32_t entries, unsigned signs, float scale, float* out) {
    static constexpr std::array<float, 8> kFields = {4, 12, 20, 28, 36, 44, 52, 62};
    for (std::size_t i = 0; i < 8; ++i)
      out[i] = signed_value(scale * kFields[entries >> (4 * i) & 7u], signs, i);
  }
  static void iq3_s(std::uint32_t entries, unsigned signs, float scale, float* out) {
    for (std::size_t i = 0; i < 8; ++i) {
      const auto field = static_cast<float>(2 * (entries >> (4 * i) & 7u) + 1);
      out[i] = signed_value(scale * field, signs, i);
    }
  }
};
using Blocks = GridBlocks<PlainOps>;

}  // namespace

void block_iq1_s(const std::byte* block, float* out) {
  Blocks::iq1_s(block, out);
}
void block_iq1_m(const std::byte* block, float* out) {
  Blocks::iq1_m(block, out);
}
void block_iq2_xxs(const std::byte* block, float* out) {
  Blocks::iq2_xxs(block, out);
}
void block_iq2_xs(const std::byte* block, float* out) {
  Blocks::iq2_xs(block, out);
}
void block_iq2_s(const std::byte* block, float* out) {
  Blocks::iq2_s(block, out);
}
void block_iq3_xxs(const std::byte* block, float* out) {
  Blocks::iq3_xxs(block, out);
}
void block_iq3_s(const std::byte* block, float* out) {
  Blocks::iq3_s(block, out);
}

}  // namespace satchel::kernels
