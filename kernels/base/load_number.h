// Reads a number from a file or a page: little-endian, unaligned. The caller has checked that its
// bytes exist.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

static_assert(std::endian::native == std::endian::little,
              "files and pages are little-endian; the machine must be, too");

namespace satchel {

template <class T>
T load_number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace satchel
