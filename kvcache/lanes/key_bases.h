// KeyBases: coordinates for the keys of each lane of a model, in which few of them carry nearly all that
// queries ask for, so that a codec can give bits where they matter (codecs/klt.cpp).
//   made    once for a model, from second moments over a few texts: with S the mean of q·qᵀ over the
//           lane's query heads, after RoPE, and C the covariance of keys within pages of 128 tokens, the
//           error of a logit is eᵀ·S·e; U are the eigenvectors of S^½·C·S^½, largest first;
//           to = S^½·U, from = S^-½·U, scaled so that the largest coordinate deviates by 8
//   lanes   all of the cache, in its order
//   source  ours; the Karhunen-Loève transform of keys as queries weigh them. arXiv:2511.01815 (KVTC)
//           takes principal components of the keys alone, for storage
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/page_layout.h"

namespace satchel::kvcache {

struct KeyBases {
  struct Lane {
    std::size_t head_dim = 0;
    std::vector<float> to, from;  // kernels::Basis
    kernels::Basis view() const { return {.to = to.data(), .from = from.data()}; }
  };
  std::string model;   // fingerprint of its file
  std::string name;    // the model's, for people
  std::string source;  // from what they were made, for people
  std::vector<Lane> lanes;
  std::uint64_t id = 0;  // hash of the matrices: pages made with others cannot be read
};

}  // namespace satchel::kvcache
