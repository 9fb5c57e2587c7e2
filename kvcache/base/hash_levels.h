// XXH3 as the file that includes this is compiled: each instruction level has functions of its own,
// among which hash.cpp chooses at run time; the hash is the same. No type of the standard library
// here: an inline function of it, compiled for one level, could stand in for those of all files.
#pragma once

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

namespace satchel::kvcache {

struct HashLevel {
  void (*add)(XXH3_state_t* state, const void* data, unsigned long n_bytes);
  XXH128_hash_t (*end)(const XXH3_state_t* state);
};

static inline void xxh3_add(XXH3_state_t* state, const void* data, unsigned long n_bytes) {
  XXH3_128bits_update(state, data, n_bytes);
}
static inline XXH128_hash_t xxh3_end(const XXH3_state_t* state) {
  return XXH3_128bits_digest(state);
}

extern const HashLevel kHashPlain;
extern const HashLevel kHashAvx2;  // x86-64 only

}  // namespace satchel::kvcache
