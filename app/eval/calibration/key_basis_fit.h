// KeyBasisFit: fits the coordinates in which a lane's keys are best quantised (kvcache::KeyBases),
// from the queries and keys of texts. It keeps sums only, so texts can be added one by one.
//   frames   keys are taken in their page's frame (kernels::Basis), as codecs encode them. Queries
//            are summed before RoPE. S is then the mean over the distances that a query can have
//            from the frame, since short texts show only the first of them. Half of kDistances are
//            spread over the nearest kNearTokens (most attention), half over the whole context or
//            window.
//   ridge    S += kQueryRidge · its mean eigenvalue, because other texts may query directions that
//            these did not
//   pages    keys are taken relative to the mean of their page, which codecs subtract. The first
//            tokens are left out: they stay exact and their keys are unlike all others.
//   dead     a lane whose keys are all equal, or whose queries are zero, keeps its own coordinates
//   memory   16 · head_dim² bytes per lane, in main memory
//   cost     head_dim² / 2 multiply-adds per query and key, 4 · head_dim² per distance; two
//            eigendecompositions per lane
//   threads  none of its own
//   source   ours; kvcache/profile/key_bases.h
#pragma once

#include <cstddef>
#include <vector>

#include "kvcache/shape/cache_shape.h"

namespace satchel::eval {

inline constexpr std::size_t kDistances = 128;    // chosen
inline constexpr std::size_t kNearTokens = 8192;  // chosen
inline constexpr double kQueryRidge = 1e-4;       // chosen
inline constexpr double kLargestDeviation = 8;    // of a coordinate; chosen: fp16 scales have room
inline constexpr double kEigenvalueLeast = 1e-6;  // of the largest, in KeyBasis::gain_bits; chosen:
    // nobody codes finer than 10 bits below the largest

struct KeyBasis {
  std::vector<float> to;  // [head_dim, head_dim], row-major
  // Bits saved per value of a key at equal logit error, compared with coordinates of equal
  // variance: half the log2 of the variances' arithmetic mean over their geometric mean. 0: no
  // gain.
  double gain_bits = 0;
};

// Rows of a lane or head among those of others.
struct HeadRows {
  const float* first = nullptr;
  std::size_t n = 0, stride = 0;  // in values
};

class KeyBasisFit {
 public:
  // For all lanes. context: the model's, in tokens; at least 1.
  KeyBasisFit(const kvcache::CacheShape& shape, std::size_t context);
  ~KeyBasisFit();
  KeyBasisFit(KeyBasisFit&&) noexcept;
  KeyBasisFit& operator=(KeyBasisFit&&) noexcept;

  // Rows with NaN or infinity are ignored. Adds queries of one of the lane's heads before RoPE, in
  // any order.
  void add_queries(std::size_t lane, const HeadRows& queries);
  // Adds all keys of a text, after RoPE.
  void add_keys(std::size_t lane, const HeadRows& keys);
  KeyBasis solve(std::size_t lane) const;

 private:
  struct Sums;
  std::vector<kvcache::LayerShape> layers_;
  std::size_t context_;
  std::vector<Sums> lanes_;
};

}  // namespace satchel::eval
