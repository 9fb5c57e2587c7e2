// The 128-bit XXH3 hash: finds accidents, not attackers.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace satchel::kvcache {

using Hash128 = std::array<std::byte, 16>;  // canonical order: the high half first, big-endian

// Of bytes that come in chunks.
class Hasher {
 public:
  static constexpr std::size_t kStateBytes = 576;

  Hasher();
  Hasher(const Hasher&) = delete;
  void add(std::span<const std::byte> bytes);
  Hash128 hash() const;

 private:
  alignas(64) std::byte state_[kStateBytes];
};

Hash128 hash_bytes(std::span<const std::byte> bytes);
// Of two stretches as if they lay side by side.
Hash128 hash_bytes(std::span<const std::byte> first, std::span<const std::byte> second);
std::string to_hex(const Hash128& hash);

}  // namespace satchel::kvcache
