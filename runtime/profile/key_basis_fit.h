// KeyBasisFit: finds the coordinates in which a lane's keys are best coded (kvcache::KeyBases says what
// they are) from the queries and keys of texts. Only sums are kept, so that texts may be added one by
// one.
//   frames   keys count as a page of them is coded, in its frame (kernels::Basis), and queries as they
//            stand to it: what is kept of them is S before RoPE, and S is its mean over the places
//            that a query may have behind the frame, of which texts shorter than the context have only
//            the first. Half of kDistances are even over the nearest kNearTokens (most attention), half
//            over all of the context, or of the window
//   ridge    S += kQueryRidge · its mean eigenvalue: a direction that these texts' queries did not look
//            at may be looked at by others
//   pages    keys count around the mean of their page, as codecs take it out; the first tokens stay
//            exact in any case, and their keys are like no others: they are left out
//   dead     a lane whose keys are all alike, or whose queries are zero, keeps the coordinates it has
//   memory   16 · head_dim² bytes a lane, in main memory
//   cost     head_dim² / 2 multiply-adds a query and a key, 4 · head_dim² a distance; two eigen
//            decompositions a lane
//   threads  none of its own
//   source   ours; kvcache/lanes/key_bases.h
#pragma once

#include <cstddef>
#include <vector>

#include "kvcache/cache_shape.h"

namespace satchel::runtime {

inline constexpr std::size_t kDistances = 128;    // chosen
inline constexpr std::size_t kNearTokens = 8192;  // chosen
inline constexpr double kQueryRidge = 1e-4;       // chosen
inline constexpr double kLargestDeviation = 8;    // of a coordinate; chosen: fp16 scales have room
inline constexpr double kEigenvalueLeast = 1e-6;  // of the largest, in KeyBasis::gain_bits; chosen:
    // nobody codes finer than 10 bits below the largest

struct KeyBasis {
  std::vector<float> to;  // [head_dim, head_dim], row by row
  // Of bits per value of a key, at equal error of logits, against coordinates that all have the mean of
  // the variances: half the log2 of arithmetic over geometric mean. 0: nothing is gained.
  double gain_bits = 0;
};

// Rows of a lane or head among those of others.
struct HeadRows {
  const float* first = nullptr;
  std::size_t n = 0, stride = 0;  // in values
};

class KeyBasisFit {
 public:
  // Of all lanes. context: of the model, in tokens; at least 1.
  KeyBasisFit(const kvcache::CacheShape& shape, std::size_t context);
  ~KeyBasisFit();
  KeyBasisFit(KeyBasisFit&&) noexcept;
  KeyBasisFit& operator=(KeyBasisFit&&) noexcept;

  // What is no number is left out. Queries of one of the lane's heads before RoPE, in any order …
  void add_queries(std::size_t lane, const HeadRows& queries);
  // … and all keys of a text after it.
  void add_keys(std::size_t lane, const HeadRows& keys);
  KeyBasis solve(std::size_t lane) const;

 private:
  struct Sums;
  std::vector<kvcache::LayerShape> layers_;
  std::size_t context_;
  std::vector<Sums> lanes_;
};

}  // namespace satchel::runtime
