// ValueBasisFit: fits the coordinates of which a lane's values need the fewest
// (kvcache::KeyBases::values): the principal components of values about the mean of their page,
// largest first. It keeps sums only, so texts can be added one by one.
//   why      of all linear maps to `rank` numbers and back the projection on the first `rank`
//            components misses least in squares. That is the loss that CSKV trains its factors with
//            (arXiv:2409.10593), so nothing is left to train.
//   pages    and first tokens as in KeyBasisFit
//   dead     a lane whose values are all equal keeps its own coordinates
//   memory   8 · head_dim² bytes per lane, in main memory
//   threads  none of its own
#pragma once

#include <cstddef>
#include <vector>

#include "app/eval/calibration/key_basis_fit.h"
#include "kvcache/shape/cache_shape.h"

namespace satchel::eval {

struct ValueBasis {
  std::vector<float> values;  // [head_dim, head_dim], row-major, orthogonal
  double share_of_fifth = 0;  // of the variance, in the first fifth of the coordinates; dead: 1
};

class ValueBasisFit {
 public:
  explicit ValueBasisFit(const kvcache::CacheShape& shape);  // for all lanes
  ~ValueBasisFit();

  // Adds all values of a text. Rows with NaN or infinity are ignored.
  void add(std::size_t lane, const HeadRows& values);
  ValueBasis solve(std::size_t lane) const;

 private:
  struct Sum;
  std::vector<Sum> lanes_;
};

}  // namespace satchel::eval
