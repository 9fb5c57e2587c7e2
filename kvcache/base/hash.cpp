#include "kvcache/base/hash.h"

#include <cstring>

#include "kvcache/base/hash_levels.h"

namespace satchel::kvcache {
namespace {

HashBoth chosen() {
#ifdef SATCHEL_HASH_AVX2
  if (__builtin_cpu_supports("avx2")) return hash_avx2;
#endif
  return hash_plain;
}

}  // namespace

XXH128_hash_t hash_plain(HashedBytes first, HashedBytes second) {
  return xxh3_of(first, second);
}

Hash128 hash_bytes(std::span<const std::byte> first, std::span<const std::byte> second) {
  static const HashBoth hash = chosen();
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes,
                           hash({first.data(), first.size()}, {second.data(), second.size()}));
  Hash128 out;
  std::memcpy(out.data(), bytes.digest, out.size());
  return out;
}

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  return hash_bytes(bytes, {});
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
