// Compiled with AVX2: nearly three times as fast as what every processor has.
#include "kvcache/base/hash_levels.h"

namespace satchel::kvcache {

#ifdef SATCHEL_HASH_AVX2
XXH128_hash_t hash_avx2(HashedBytes first, HashedBytes second) {
  return xxh3_of(first, second);
}
#endif

}  // namespace satchel::kvcache
