// Which checkpoints of recurrent states are worth their memory: the nearer to the end of the text,
// the closer they stand. Cutting a text at its end costs little reading then, and cutting it far
// back a bounded share of what follows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace satchel::kvcache {

// One stands behind at least so many tokens. Chosen: as many as are prefilled again in a fraction
// of a second on a slow machine.
inline constexpr std::size_t kCheckpointTokensLeast = 128;
// Of one cache. Chosen: with intervals of 128 tokens the gaps of a text of 131,072 are a fifth to a
// third of their distance from its end.
inline constexpr std::size_t kCheckpointsMost = 32;
// They take at most this share of the arena, one in so many bytes; but one may always stand.
inline constexpr std::size_t kCheckpointShare = 8;
// A snapshot has as many as take this share of what its text takes in fp16, one in so many bytes;
// but this many always.
inline constexpr std::size_t kSavedShare = 20, kSavedLeast = 2;

// The one whose loss leaves the smallest gap for its distance from the end of the text.
//   positions  rising, above 0, not empty
std::size_t least_missed(std::span<const std::size_t> positions, std::size_t end);

// What is left of them when the least missed go until n_most are left.
std::vector<std::size_t> thinned(std::vector<std::size_t> positions, std::size_t end,
                                 std::size_t n_most);

// Where a prefill of tokens first … end - 1 wants checkpoints: where it begins, every `interval`
// tokens, and where it ends. Rising, above 0.
std::vector<std::size_t> wanted_checkpoints(std::size_t first, std::size_t end,
                                            std::size_t interval);

}  // namespace satchel::kvcache
