// Pseudo-random signs, the same on every machine: 1 or -1 by the lowest bit of splitmix64's mix.
#pragma once

#include <cstdint>

namespace satchel::kvcache {

inline double hashed_sign(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((z ^ (z >> 31)) & 1) != 0 ? 1 : -1;
}

}  // namespace satchel::kvcache
