// The hash of records: what is stored stays valid whatever the processor has.
#include "kvcache/base/hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "kvcache/base/hash_levels.h"

namespace satchel::kvcache {
namespace {

std::vector<std::byte> some_bytes(std::size_t n) {
  std::vector<std::byte> bytes(n);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// As libxxhash gives it (XXH3_128bits); lengths of each way through XXH3.
TEST(Hash, is_xxh3_of_128_bits) {
  constexpr std::pair<std::size_t, const char*> kKnown[] = {
      {0, "99aa06d3014798d86001c324468d497f"},    {3, "9dce807f4a9aaa5632dbb5c7774cc94f"},
      {16, "f8ae1a6f144fb00b4c6929dc65a535a0"},   {100, "554544ab5fa3fd1ec4edd304b62a71db"},
      {240, "b2c3c2aa029b2279e16f608e11e76335"},  {241, "e75e577a31d24834d6afac6f8fa85b01"},
      {4096, "4c4887f46fb49f41436f521f6688c5ed"}, {70001, "1e210a1626f5ee1b7f6252bdde984aaf"},
  };
  for (const auto& [n, wanted] : kKnown) {
    const std::vector<std::byte> bytes = some_bytes(n);
    EXPECT_EQ(to_hex(hash_bytes(bytes)), wanted) << n;  // as this processor can
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    kHashPlain.add(&state, bytes.data(), n);
    XXH128_canonical_t plain;
    XXH128_canonicalFromHash(&plain, kHashPlain.end(&state));
    Hash128 hash;
    std::memcpy(hash.data(), plain.digest, hash.size());
    EXPECT_EQ(to_hex(hash), wanted) << n;  // as every processor can
  }
}

TEST(Hash, of_two_stretches_is_that_of_both_side_by_side) {
  const std::vector<std::byte> bytes = some_bytes(70'001);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t at : {0u, 1u, 32u, 64u, 4'097u, 70'000u, 70'001u})
    EXPECT_EQ(hash_bytes(all.first(at), all.subspan(at)), hash_bytes(all)) << at;
}

}  // namespace
}  // namespace satchel::kvcache
