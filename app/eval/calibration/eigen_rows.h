// Rows of a lane as Eigen has them, for the fits of this folder.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "app/eval/calibration/key_basis_fit.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/cache/cache.h"

namespace satchel::eval {

// Columns of doubles: [head_dim, n], of rows `from` on. Rows that are no numbers are not among
// them.
inline Eigen::MatrixXd columns(const HeadRows& rows, std::size_t from, std::size_t n,
                               std::size_t head_dim) {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(head_dim), static_cast<Eigen::Index>(n));
  Eigen::Index taken = 0;
  for (std::size_t t = from; t < from + n; ++t) {
    const Eigen::Map<const Eigen::VectorXf> row(rows.first + t * rows.stride, out.rows());
    if (row.allFinite()) out.col(taken++) = row.cast<double>();
  }
  return out.leftCols(taken);
}

// body(columns of a page, where it begins) for each page of a lane's rows. A page's last tokens may
// be missing; of fewer than a step the mean would be mostly themselves.
template <class Body>
void each_page(const HeadRows& rows, std::size_t head_dim, const Body& body) {
  for (std::size_t at = kvcache::kSinkTokens; at < rows.n; at += kernels::kPageTokens) {
    Eigen::MatrixXd page = columns(rows, at, std::min(kernels::kPageTokens, rows.n - at), head_dim);
    if (page.cols() >= static_cast<Eigen::Index>(kernels::kPageStep)) body(page, at);
  }
}

inline std::vector<float> rows_of(const Eigen::MatrixXd& matrix) {
  std::vector<float> out;
  for (Eigen::Index r = 0; r < matrix.rows(); ++r)
    for (Eigen::Index c = 0; c < matrix.cols(); ++c)
      out.push_back(static_cast<float>(matrix(r, c)));
  return out;
}

}  // namespace satchel::eval
