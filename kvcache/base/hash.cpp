#include "kvcache/base/hash.h"

#include <cstring>

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

namespace satchel::kvcache {
namespace {

Hash128 canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Hash128 out;
  std::memcpy(out.data(), bytes.digest, out.size());
  return out;
}

}  // namespace

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 hash_bytes(std::span<const std::byte> first, std::span<const std::byte> second) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, first.data(), first.size());
  XXH3_128bits_update(&state, second.data(), second.size());
  return canonical(XXH3_128bits_digest(&state));
}

std::string to_hex(const Hash128& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : hash) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15u];
  }
  return text;
}

}  // namespace satchel::kvcache
