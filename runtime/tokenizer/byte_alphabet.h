// The alphabet in which byte-level BPE vocabularies spell bytes. Printable bytes are themselves;
// all others are code points from U+0100, so a piece never contains a space or control character
// ("Ġ" is a space, "Ċ" a newline).
//   source  GPT-2's encoder.py, bytes_to_unicode
#pragma once

#include <array>
#include <optional>

namespace satchel::runtime {

// [256], index = byte.
std::array<char32_t, 256> byte_alphabet();
// The byte for a code point of the alphabet; nothing for others.
std::optional<unsigned char> byte_of(char32_t code);

}  // namespace satchel::runtime
