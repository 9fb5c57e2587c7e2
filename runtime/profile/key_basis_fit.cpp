#include "runtime/profile/key_basis_fit.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/cache.h"

namespace satchel::runtime {
namespace {

using Eigen::MatrixXd;

constexpr double kEntryMost = 16384;  // of `to`; chosen: a quarter of what fp16 holds

// Columns of doubles: [head_dim, n], of rows `from` on. Rows that are no numbers are not among them.
MatrixXd columns(const HeadRows& rows, std::size_t from, std::size_t n, std::size_t head_dim) {
  MatrixXd out(static_cast<Eigen::Index>(head_dim), static_cast<Eigen::Index>(n));
  Eigen::Index taken = 0;
  for (std::size_t t = from; t < from + n; ++t) {
    const Eigen::Map<const Eigen::VectorXf> row(rows.first + t * rows.stride, out.rows());
    if (row.allFinite()) out.col(taken++) = row.cast<double>();
  }
  return out.leftCols(taken);
}

MatrixXd full(const MatrixXd& lower) {
  return lower.selfadjointView<Eigen::Lower>();
}

MatrixXd root_of(const MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> parts(symmetric);
  return parts.eigenvectors() * parts.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal() *
         parts.eigenvectors().transpose();
}

std::vector<float> rows_of(const MatrixXd& matrix) {
  std::vector<float> out;
  for (Eigen::Index r = 0; r < matrix.rows(); ++r)
    for (Eigen::Index c = 0; c < matrix.cols(); ++c)
      out.push_back(static_cast<float>(matrix(r, c)));
  return out;
}

double gain_of(const Eigen::VectorXd& variances) {
  const Eigen::ArrayXd v = variances.array().max(kEigenvalueLeast * variances.maxCoeff());
  return (std::log2(v.mean()) - v.log2().mean()) / 2;
}

}  // namespace

struct KeyBasisFit::Sums {
  MatrixXd queries = {}, keys = {};  // [head_dim, head_dim], lower half
  double n_queries = 0, n_keys = 0;
};

KeyBasisFit::KeyBasisFit(std::span<const std::size_t> head_dims) {
  for (const std::size_t head_dim : head_dims) {
    const auto n = static_cast<Eigen::Index>(head_dim);
    lanes_.push_back({.queries = MatrixXd::Zero(n, n), .keys = MatrixXd::Zero(n, n)});
  }
}
KeyBasisFit::~KeyBasisFit() = default;
KeyBasisFit::KeyBasisFit(KeyBasisFit&&) noexcept = default;
KeyBasisFit& KeyBasisFit::operator=(KeyBasisFit&&) noexcept = default;

void KeyBasisFit::add_queries(std::size_t lane, const HeadRows& queries) {
  Sums& sums = lanes_[lane];
  const auto head_dim = static_cast<std::size_t>(sums.queries.rows());
  for (std::size_t at = 0; at < queries.n; at += kernels::kPageTokens) {
    const std::size_t n = std::min(kernels::kPageTokens, queries.n - at);
    const MatrixXd block = columns(queries, at, n, head_dim);
    sums.queries.selfadjointView<Eigen::Lower>().rankUpdate(block);
    sums.n_queries += static_cast<double>(block.cols());
  }
}

// A page's last tokens may be missing; of fewer than a step the mean would be mostly themselves.
void KeyBasisFit::add_keys(std::size_t lane, const HeadRows& keys) {
  Sums& sums = lanes_[lane];
  const auto head_dim = static_cast<std::size_t>(sums.keys.rows());
  for (std::size_t at = kvcache::kSinkTokens; at < keys.n; at += kernels::kPageTokens) {
    MatrixXd page = columns(keys, at, std::min(kernels::kPageTokens, keys.n - at), head_dim);
    if (page.cols() < static_cast<Eigen::Index>(kernels::kPageStep)) continue;
    page.colwise() -= page.rowwise().mean().eval();
    sums.keys.selfadjointView<Eigen::Lower>().rankUpdate(page);
    sums.n_keys += static_cast<double>(page.cols());
  }
}

KeyBasis KeyBasisFit::solve(std::size_t lane) const {
  const Sums& sums = lanes_[lane];
  const Eigen::Index d = sums.queries.rows();
  const KeyBasis as_it_is{.to = rows_of(MatrixXd::Identity(d, d))};
  if (sums.n_queries == 0 || sums.n_keys == 0) return as_it_is;
  MatrixXd queries = full(sums.queries) / sums.n_queries;
  queries.diagonal().array() += kQueryRidge * queries.trace() / static_cast<double>(d);
  const MatrixXd root = root_of(queries);
  const MatrixXd weighed = root * (full(sums.keys) / sums.n_keys) * root;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> parts(weighed);
  const double largest = parts.eigenvalues().maxCoeff();
  if (!(largest > 0) || !std::isfinite(largest)) return as_it_is;
  const MatrixXd to = root * parts.eigenvectors().rowwise().reverse();
  const double scale =
      std::min(kLargestDeviation / std::sqrt(largest), kEntryMost / to.cwiseAbs().maxCoeff());
  return {.to = rows_of(to * scale), .gain_bits = gain_of(parts.eigenvalues())};
}

}  // namespace satchel::runtime
