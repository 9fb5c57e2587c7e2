// Operations of a warp, as its lanes call them; values of any trivially copyable type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "simt/block.h"
#include "simt/memory.h"

namespace simt {

void sync_warp(std::uint32_t mask);
std::uint32_t ballot(std::uint32_t mask, bool is);

// The value of `lane`, which must be in the mask.
void shuffle_bytes(std::uint32_t mask, const void* value, std::size_t bytes, unsigned lane,
                   void* out);
template <class T>
T shuffle(std::uint32_t mask, const T& value, unsigned lane) {
  static_assert(std::is_trivially_copyable_v<T>);
  T out;
  shuffle_bytes(mask, &value, sizeof(T), lane, &out);
  return out;
}

// A read-modify-write of 4 or 8 bytes; returns what stood there. Not a template: kernels' units are
// compiled with checks of every access, and these are checked as one.
std::uint64_t atomic_bits(void* at, std::size_t bytes,
                          std::uint64_t (*change)(std::uint64_t old, std::uint64_t by),
                          std::uint64_t by);
template <class T, class Change>
T atomic(T* at, T by, Change) {
  static_assert(std::is_integral_v<T> &&
                (sizeof(T) == 4 || sizeof(T) == 8));  // sums of floats have no order
  return static_cast<T>(atomic_bits(
      at, sizeof(T),
      [](std::uint64_t old, std::uint64_t operand) {
        return static_cast<std::uint64_t>(Change()(static_cast<T>(old), static_cast<T>(operand)));
      },
      static_cast<std::uint64_t>(by)));
}

}  // namespace simt
