#include "app/eval/calibration/key_basis_fit.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "app/eval/calibration/eigen_rows.h"
#include "kernels/base/assert.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/cache/cache.h"

namespace satchel::eval {
namespace {

using Eigen::MatrixXd;

constexpr double kEntryMost = 16384;  // of `to`; chosen: a quarter of what fp16 holds

MatrixXd full(const MatrixXd& lower) {
  return lower.selfadjointView<Eigen::Lower>();
}

// RoPE by `position` of all columns, or of a matrix's rows and columns: R · m · Rᵀ.
void rotate_columns(const kvcache::LayerShape& layer, double position, MatrixXd& m) {
  const auto n_pairs = static_cast<Eigen::Index>(layer.inverse_frequency.size());
  const bool halves = layer.rope_pairs == kernels::RopePairs::halves;
  for (Eigen::Index i = 0; i < n_pairs; ++i) {
    const Eigen::Index a = halves ? i : 2 * i, b = halves ? i + n_pairs : 2 * i + 1;
    const double angle = position * layer.inverse_frequency[static_cast<std::size_t>(i)];
    const Eigen::RowVectorXd first = m.row(a), second = m.row(b);
    m.row(a) = std::cos(angle) * first - std::sin(angle) * second;
    m.row(b) = std::sin(angle) * first + std::cos(angle) * second;
  }
}
MatrixXd rotated(const kvcache::LayerShape& layer, double position, MatrixXd m) {
  rotate_columns(layer, position, m);
  m.transposeInPlace();
  rotate_columns(layer, position, m);
  return m;
}

// Over the places that a query may have behind a frame.
MatrixXd mean_over_distances(const kvcache::LayerShape& layer, std::size_t context,
                             const MatrixXd& before_rope) {
  if (layer.inverse_frequency.empty()) return before_rope;
  const std::size_t all = layer.window == 0 ? context : std::min(layer.window, context);
  MatrixXd sum = MatrixXd::Zero(before_rope.rows(), before_rope.cols());
  constexpr std::size_t kHalf = kDistances / 2;
  for (const std::size_t reach : {std::min(all, kNearTokens), all})
    for (std::size_t i = 0; i < kHalf; ++i) {
      const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(kHalf);
      sum += rotated(layer, part * static_cast<double>(reach), before_rope);
    }
  return sum / static_cast<double>(kDistances);
}

MatrixXd root_of(const MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> parts(symmetric);
  return parts.eigenvectors() * parts.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal() *
         parts.eigenvectors().transpose();
}

double gain_of(const Eigen::VectorXd& variances) {
  const Eigen::ArrayXd v = variances.array().max(kEigenvalueLeast * variances.maxCoeff());
  return (std::log2(v.mean()) - v.log2().mean()) / 2;
}

}  // namespace

struct KeyBasisFit::Sums {
  MatrixXd queries = {}, keys = {};  // [head_dim, head_dim], lower half
  double n_queries = 0, n_keys = 0;
  std::size_t layer = 0;
};

KeyBasisFit::KeyBasisFit(const kvcache::CacheShape& shape, std::size_t context)
    : layers_(shape.layers), context_(context) {
  SATCHEL_ASSERT(context > 0);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const auto n = static_cast<Eigen::Index>(layers_[layer].head_dim);
    for (std::size_t head = 0; head < layers_[layer].n_kv_heads; ++head)
      lanes_.push_back(
          {.queries = MatrixXd::Zero(n, n), .keys = MatrixXd::Zero(n, n), .layer = layer});
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

void KeyBasisFit::add_keys(std::size_t lane, const HeadRows& keys) {
  Sums& sums = lanes_[lane];
  const auto head_dim = static_cast<std::size_t>(sums.keys.rows());
  each_page(keys, head_dim, [&](MatrixXd& page, std::size_t at) {
    rotate_columns(layers_[sums.layer], -static_cast<double>(at - at % kernels::kFrameTokens),
                   page);
    page.colwise() -= page.rowwise().mean().eval();
    sums.keys.selfadjointView<Eigen::Lower>().rankUpdate(page);
    sums.n_keys += static_cast<double>(page.cols());
  });
}

KeyBasis KeyBasisFit::solve(std::size_t lane) const {
  const Sums& sums = lanes_[lane];
  const Eigen::Index d = sums.queries.rows();
  const KeyBasis as_it_is{.to = rows_of(MatrixXd::Identity(d, d))};
  if (sums.n_queries == 0 || sums.n_keys == 0) return as_it_is;
  MatrixXd queries =
      mean_over_distances(layers_[sums.layer], context_, full(sums.queries) / sums.n_queries);
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

}  // namespace satchel::eval
