// Changes bytes at random, as a fuzzer does: flips, extreme numbers, cuts, copies, splices.
//   source  the mutations that AFL and libFuzzer name; deterministic for a given Rng
#pragma once

#include <cstddef>

#include "target.h"

namespace satchel::fuzz {

constexpr std::size_t kInputBytesMax = 65536;

// Up to eight changes to `input`; `other` is where splices come from.
void mutate(Input& input, const Input& other, Rng& rng);

// Below `bound`, 0 if that is 0.
inline std::size_t below(Rng& rng, std::size_t bound) {
  return bound == 0 ? 0 : rng.next() % bound;
}

// Numbers on which arithmetic breaks: 0, 1, powers of two and their neighbours, the ends of each
// width.
std::uint64_t extreme_number(Rng& rng);

}  // namespace satchel::fuzz
