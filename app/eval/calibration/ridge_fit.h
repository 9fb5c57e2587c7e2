// RidgeFit: linear maps from the same inputs to several outputs, by least squares with a ridge. It
// keeps sums only, so texts can be added one by one.
//   map      W minimises the sum of |y - W·x - b|² + ridge · s · |W|², s the sum of squares of an
//            input about its mean, the mean over the inputs; b = mean(y) - W · mean(x)
//   precise  sums and solution in double
//   memory   8 · (n_in² + n_in · all outputs) bytes
//   cost     n_in² / 2 + n_in · n_out multiply-adds per row; one Cholesky factorisation
//   threads  none of its own
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "app/eval/calibration/kv_prediction.h"

namespace satchel::eval {

class RidgeFit {
 public:
  RidgeFit(std::size_t n_in, std::vector<std::size_t> n_out);
  ~RidgeFit();
  RidgeFit(RidgeFit&&) noexcept;
  RidgeFit& operator=(RidgeFit&&) noexcept;

  // inputs [n, n_in], once; then outputs [n, n_out[which]] of the same rows, for every `which`.
  void add_inputs(std::span<const float> inputs);
  void add_outputs(std::size_t which, std::span<const float> inputs,
                   std::span<const float> outputs);
  struct Solution {
    LinearMap map;
    double explained = 0;  // of the outputs' variance over the rows added
  };
  // needs   a row; ridge > 0
  std::vector<Solution> solve(double ridge) const;

 private:
  struct Sums;
  std::unique_ptr<Sums> sums_;
};

}  // namespace satchel::eval
