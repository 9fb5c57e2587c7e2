// RopeTable: the frequencies of a rotary embedding and the order of its pairs.
#pragma once

#include <span>

namespace satchel::kernels {

// The order of the two values of a rotated pair in GGUF files.
enum class RopePairs { adjacent /* (2i, 2i+1) */, halves /* (i, i + n_rotated/2) */ };

// The frequencies of a model's (or a layer's) rotary embedding.
struct RopeTable {
  std::span<const double> inverse_frequency;  // [n_rotated / 2], scaling already applied; the other
                                              // values of a head are not rotated
  RopePairs pairs = RopePairs::adjacent;
};

}  // namespace satchel::kernels
