#include "app/eval/calibration/value_basis_fit.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "app/eval/calibration/eigen_rows.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/cache/cache.h"

namespace satchel::eval {

using Eigen::MatrixXd;

struct ValueBasisFit::Sum {
  MatrixXd squares;  // [head_dim, head_dim], lower half
};

ValueBasisFit::ValueBasisFit(const kvcache::CacheShape& shape) {
  for (const kvcache::LayerShape& layer : shape.layers) {
    const auto n = static_cast<Eigen::Index>(layer.head_dim);
    for (std::size_t head = 0; head < layer.n_kv_heads; ++head)
      lanes_.push_back({.squares = MatrixXd::Zero(n, n)});
  }
}
ValueBasisFit::~ValueBasisFit() = default;

void ValueBasisFit::add(std::size_t lane, const HeadRows& values) {
  MatrixXd& squares = lanes_[lane].squares;
  each_page(values, static_cast<std::size_t>(squares.rows()), [&](MatrixXd& page, std::size_t) {
    page.colwise() -= page.rowwise().mean().eval();
    squares.selfadjointView<Eigen::Lower>().rankUpdate(page);
  });
}

ValueBasis ValueBasisFit::solve(std::size_t lane) const {
  const MatrixXd& squares = lanes_[lane].squares;
  const Eigen::Index d = squares.rows();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> parts(squares);  // reads the lower half
  const Eigen::VectorXd variances = parts.eigenvalues().reverse().cwiseMax(0);
  const double all = variances.sum();
  if (!(all > 0) || !std::isfinite(all))
    return {.values = rows_of(MatrixXd::Identity(d, d)), .share_of_fifth = 1};
  const auto fifth = std::max<Eigen::Index>(1, std::lround(static_cast<double>(d) / 5));
  return {.values = rows_of(parts.eigenvectors().rowwise().reverse()),
          .share_of_fifth = variances.head(fifth).sum() / all};
}

}  // namespace satchel::eval
