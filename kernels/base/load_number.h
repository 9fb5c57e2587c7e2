// A number as it lies in a file or a page: little-endian, at any alignment. The caller has checked
// that its bytes are there.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

static_assert(std::endian::native == std::endian::little,
              "numbers are read as they lie in files and pages");

namespace satchel {

template <class T>
T load_number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace satchel
