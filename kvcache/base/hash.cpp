#include "kvcache/base/hash.h"

#include <cstring>
#include <new>

#include "kvcache/base/hash_levels.h"

namespace satchel::kvcache {

const HashLevel kHashPlain = {xxh3_add, xxh3_end};

namespace {

// Whatever level the backend was told to use (BackendOptions::cpu_level): all of these have AVX2,
// and the hash is the same.
const HashLevel& level() {
#ifdef SATCHEL_HASH_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return kHashAvx2;
#endif
  return kHashPlain;
}

}  // namespace

static_assert(sizeof(XXH3_state_t) <= Hasher::kStateBytes && alignof(XXH3_state_t) <= 64);

Hasher::Hasher() {
  XXH3_128bits_reset(new (state_) XXH3_state_t);
}

void Hasher::add(std::span<const std::byte> bytes) {
  level().add(std::launder(reinterpret_cast<XXH3_state_t*>(state_)), bytes.data(), bytes.size());
}

Hash128 Hasher::hash() const {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(
      &bytes, level().end(std::launder(reinterpret_cast<const XXH3_state_t*>(state_))));
  Hash128 out;
  std::memcpy(out.data(), bytes.digest, out.size());
  return out;
}

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  return hash_bytes(bytes, {});
}

Hash128 hash_bytes(std::span<const std::byte> first, std::span<const std::byte> second) {
  Hasher hasher;
  hasher.add(first);
  hasher.add(second);
  return hasher.hash();
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
