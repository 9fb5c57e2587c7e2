#include "runtime/tokenizer/byte_alphabet.h"

namespace satchel::runtime {
namespace {

constexpr bool spells_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

}  // namespace

std::array<char32_t, 256> byte_alphabet() {
  std::array<char32_t, 256> codes{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte)
    codes[byte] = spells_itself(byte) ? static_cast<char32_t>(byte) : next++;
  return codes;
}

std::optional<unsigned char> byte_of(char32_t code) {
  if (code < 256) {
    if (!spells_itself(static_cast<unsigned>(code))) return std::nullopt;
    return static_cast<unsigned char>(code);
  }
  // 0x00-0x20 lie at U+0100-U+0120, 0x7F-0xA0 at U+0121-U+0142, 0xAD at U+0143.
  const char32_t place = code - 0x100;
  if (place <= 0x20) return static_cast<unsigned char>(place);
  if (place <= 0x42) return static_cast<unsigned char>(place - 0x21 + 0x7F);
  if (place == 0x43) return static_cast<unsigned char>(0xAD);
  return std::nullopt;
}

}  // namespace satchel::runtime
