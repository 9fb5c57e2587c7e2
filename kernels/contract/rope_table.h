// RopeTable: the frequencies of a rotary embedding, and how its pairs lie.
#pragma once

#include <span>

namespace satchel::kernels {

// How GGUF files order the two halves of a rotated pair.
enum class RopePairs { adjacent /* (2i, 2i+1) */, halves /* (i, i + n_rotated/2) */ };

// The frequencies of a model's (or a layer's) rotary embedding.
struct RopeTable {
  std::span<const double> inverse_frequency;  // [n_rotated / 2], scaling already applied; the rest
                                              // of a head is left as is
  RopePairs pairs = RopePairs::adjacent;
};

}  // namespace satchel::kernels
