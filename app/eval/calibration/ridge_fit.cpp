#include "app/eval/calibration/ridge_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::eval {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Columns of doubles: [width, n].
MatrixXd in_columns(std::span<const float> rows, Eigen::Index width) {
  const Eigen::Index n = static_cast<Eigen::Index>(rows.size()) / width;
  return Eigen::Map<const Eigen::MatrixXf>(rows.data(), width, n).cast<double>();
}

std::vector<float> row_major(const MatrixXd& matrix) {
  const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows =
      matrix.cast<float>();
  return {rows.data(), rows.data() + rows.size()};
}

}  // namespace

struct RidgeFit::Sums {
  struct Output {
    MatrixXd products;  // Σ y xᵀ [n_out, n_in]
    VectorXd sum;       // Σ y
    double squares = 0;
  };
  double n = 0;
  MatrixXd squares;  // Σ x xᵀ, lower half
  VectorXd sum;      // Σ x
  std::vector<Output> outputs;
};

RidgeFit::RidgeFit(std::size_t n_in, std::vector<std::size_t> n_out)
    : sums_(std::make_unique<Sums>()) {
  const auto in = static_cast<Eigen::Index>(n_in);
  sums_->squares = MatrixXd::Zero(in, in);
  sums_->sum = VectorXd::Zero(in);
  for (const std::size_t n : n_out) {
    const auto out = static_cast<Eigen::Index>(n);
    sums_->outputs.push_back({.products = MatrixXd::Zero(out, in), .sum = VectorXd::Zero(out)});
  }
}
RidgeFit::~RidgeFit() = default;
RidgeFit::RidgeFit(RidgeFit&&) noexcept = default;
RidgeFit& RidgeFit::operator=(RidgeFit&&) noexcept = default;

void RidgeFit::add_inputs(std::span<const float> inputs) {
  const MatrixXd x = in_columns(inputs, sums_->sum.size());
  sums_->n += static_cast<double>(x.cols());
  sums_->squares.selfadjointView<Eigen::Lower>().rankUpdate(x);
  sums_->sum += x.rowwise().sum();
}

void RidgeFit::add_outputs(std::size_t which, std::span<const float> inputs,
                           std::span<const float> outputs) {
  Sums::Output& to = sums_->outputs[which];
  const MatrixXd x = in_columns(inputs, sums_->sum.size()), y = in_columns(outputs, to.sum.size());
  SATCHEL_ASSERT(x.cols() == y.cols());
  to.products.noalias() += y * x.transpose();
  to.sum += y.rowwise().sum();
  to.squares += y.squaredNorm();
}

std::vector<RidgeFit::Solution> RidgeFit::solve(double ridge) const {
  SATCHEL_ASSERT(sums_->n > 0 && ridge > 0);
  const VectorXd mean = sums_->sum / sums_->n;
  MatrixXd about_mean = sums_->squares.selfadjointView<Eigen::Lower>();
  about_mean -= sums_->n * mean * mean.transpose();
  const double s = about_mean.trace() / static_cast<double>(mean.size());
  // Inputs that are all equal explain nothing: any ridge will do.
  MatrixXd with_ridge = about_mean;
  with_ridge.diagonal().array() += s > 0 ? ridge * s : 1;
  const Eigen::LLT<MatrixXd> factors(with_ridge);
  std::vector<Solution> out;
  for (const Sums::Output& of : sums_->outputs) {
    const VectorXd mean_y = of.sum / sums_->n;
    const MatrixXd products = of.products - sums_->n * mean_y * mean.transpose();
    const MatrixXd map = factors.solve(products.transpose()).transpose();
    const VectorXd bias = mean_y - map * mean;
    const double all = of.squares - sums_->n * mean_y.squaredNorm();
    const double missed =
        all - 2 * map.cwiseProduct(products).sum() + (map * about_mean).cwiseProduct(map).sum();
    out.push_back({.map = {.n_out = static_cast<std::size_t>(map.rows()),
                           .n_in = static_cast<std::size_t>(map.cols()),
                           .matrix = row_major(map),
                           .bias = row_major(bias)},
                   .explained = all > 0 ? 1 - missed / all : 1});
  }
  return out;
}

}  // namespace satchel::eval
