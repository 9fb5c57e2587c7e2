// XXH3 as the file that includes this is compiled: each instruction level has a function of its own,
// among which hash.cpp chooses at run time; the hash is the same. No type of the standard library
// here: an inline function of it, compiled for one level, could stand in for those of all files.
#pragma once

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

namespace satchel::kvcache {

struct HashedBytes {
  const void* data;
  unsigned long n_bytes;
};
// Of two stretches as if they lay side by side.
using HashBoth = XXH128_hash_t (*)(HashedBytes first, HashedBytes second);

static inline XXH128_hash_t xxh3_of(HashedBytes first, HashedBytes second) {
  if (second.n_bytes == 0) return XXH3_128bits(first.data, first.n_bytes);
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, first.data, first.n_bytes);
  XXH3_128bits_update(&state, second.data, second.n_bytes);
  return XXH3_128bits_digest(&state);
}

XXH128_hash_t hash_plain(HashedBytes first, HashedBytes second);
XXH128_hash_t hash_avx2(HashedBytes first, HashedBytes second);  // x86-64 only

}  // namespace satchel::kvcache
