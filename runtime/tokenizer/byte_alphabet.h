// The alphabet in which byte-level BPE vocabularies spell bytes: printable bytes as themselves, the
// others as the code points from U+0100 on, so that a piece never holds a space or a control
// character ("Ġ" is a space, "Ċ" a newline).
//   source  GPT-2's encoder.py, bytes_to_unicode
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace satchel::runtime {

// [256], index = byte.
std::array<char32_t, 256> byte_alphabet();
// The byte that a code point spells.
std::optional<unsigned char> byte_of(char32_t code);

}  // namespace satchel::runtime
