#include "kernels/reference/refit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// For each row of `right`, r: the b of least |r - x b|² + λ |b|², λ = ridge · mean |column of x|².
//   x      [queries][tokens]
//   right  [any][queries]
// Returns [any][tokens]; by b = xᵀ (x xᵀ + λ)⁻¹ r and Cholesky's factors.
Rows ridge_fit(const Rows& x, const Rows& right, double ridge) {
  const std::size_t n = x.size(), n_tokens = x[0].size();
  Rows factor(n, Row(n));
  double norm = 0;
  for (std::size_t i = 0; i < n; ++i) norm += dot(x[i], x[i]);
  const double lambda = ridge * norm / static_cast<double>(n_tokens);
  Rows fitted(right.size(), Row(n_tokens));
  if (!(lambda > 0)) return fitted;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = dot(x[i], x[j]) + (i == j ? lambda : 0);
      for (std::size_t m = 0; m < j; ++m) sum -= factor[i][m] * factor[j][m];
      factor[i][j] = i == j ? std::sqrt(sum) : sum / factor[j][j];
    }
  for (std::size_t r = 0; r < right.size(); ++r) {
    Row z = right[r];
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t m = 0; m < i; ++m) z[i] -= factor[i][m] * z[m];
      z[i] /= factor[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t m = i + 1; m < n; ++m) z[i] -= factor[m][i] * z[m];
      z[i] /= factor[i][i];
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t t = 0; t < n_tokens; ++t) fitted[r][t] += x[i][t] * z[i];
  }
  return fitted;
}

class LaneFit {
 public:
  explicit LaneFit(const RefitArgs& args) : args_(args), n_(args.tokens.size()) {
    for (std::size_t q = 0; q < args.n_queries; ++q) {
      const auto lse = static_cast<double>(args.lse[q]);
      weights_.push_back(1 / (1 + std::exp(static_cast<double>(args.lse_beside[q]) - lse)));
      Row& share = shares_.emplace_back();
      for (const std::int32_t t : args.tokens) {
        double logit = 0;
        for (std::size_t c = 0; c < args.head_dim; ++c)
          logit += static_cast<double>(args.q[q * args.head_dim + c]) * value_of(args.k, t, c);
        logit *= static_cast<double>(args.scale);
        const auto cap = static_cast<double>(args.soft_cap);
        if (cap > 0) logit = cap * std::tanh(logit / cap);
        share.push_back(std::exp(logit - lse));
      }
    }
    for (std::size_t c = 0; c < args.head_dim; ++c) {
      Row& channel = values_.emplace_back();
      for (const std::int32_t t : args.tokens) channel.push_back(value_of(args.v, t, c));
    }
  }

  bool run() {
    Row counts = fit_counts();
    Rows values = fit_values(counts);
    double sum = 0;
    for (const double b : counts) sum += b;
    for (const Row& channel : values)
      for (const double v : channel) sum += v;
    const bool helps =
        args_.n_held() == 0 || held_error(counts, values) < held_error(Row(n_, 1.0), values_);
    if (!std::isfinite(sum) || !helps) return false;
    for (std::size_t i = 0; i < n_; ++i) {
      args_.weights[i] = static_cast<float>(counts[i]);
      for (std::size_t c = 0; c < args_.head_dim; ++c)
        args_.v[at(args_.tokens[i], c)] =
            float_to_half(static_cast<float>(std::clamp(values[c][i], -65504.0, 65504.0)));
    }
    return true;
  }

 private:
  std::size_t at(std::int32_t token, std::size_t channel) const {
    return static_cast<std::size_t>(token) * args_.head_dim + channel;
  }
  double value_of(const Half* rows, std::int32_t token, std::size_t channel) const {
    return static_cast<double>(half_to_float(rows[at(token, channel)]));
  }
  double wanted(std::size_t q, std::size_t c) const {
    return static_cast<double>(args_.out[q * args_.head_dim + c]);
  }
  double sum_of(std::size_t q, const Row& counts) const { return dot(shares_[q], counts); }

  Row fit_counts() const {
    Row counts(n_, 1.0);
    if (args_.bound <= 0 || args_.n_fixed >= n_) return counts;
    Rows x;
    Row missing;
    for (std::size_t q = 0; q < args_.n_queries; ++q) {
      if (args_.is_held(q)) continue;
      Row& row = x.emplace_back();
      for (std::size_t i = args_.n_fixed; i < n_; ++i) row.push_back(weights_[q] * shares_[q][i]);
      missing.push_back(weights_[q] * (1 - sum_of(q, counts)));
    }
    const Row change = ridge_fit(x, {missing}, static_cast<double>(args_.ridge))[0];
    const double most = std::exp(static_cast<double>(args_.bound));
    for (std::size_t i = args_.n_fixed; i < n_; ++i)
      counts[i] = std::clamp(1 + change[i - args_.n_fixed], 1 / most, most);
    return counts;
  }

  Rows fit_values(const Row& counts) const {
    Rows x, missing(args_.head_dim), values = values_;
    for (std::size_t q = 0; q < args_.n_queries; ++q) {
      if (args_.is_held(q)) continue;
      const double sum = sum_of(q, counts);
      const double weight = weights_[q] / std::max(double{RefitArgs::kLeastMass}, sum);
      Row& attention = x.emplace_back(n_);
      for (std::size_t i = 0; i < n_; ++i) attention[i] = weight * shares_[q][i] * counts[i];
      for (std::size_t c = 0; c < args_.head_dim; ++c)
        missing[c].push_back(weight * sum * wanted(q, c) - dot(attention, values_[c]));
    }
    const Rows change = ridge_fit(x, missing, static_cast<double>(args_.ridge));
    for (std::size_t c = 0; c < args_.head_dim; ++c)
      for (std::size_t i = 0; i < n_; ++i) values[c][i] += change[c][i];
    return values;
  }

  double held_error(const Row& counts, const Rows& values) const {
    double error = 0;
    for (std::size_t q = 0; q < args_.n_queries; ++q) {
      if (!args_.is_held(q)) continue;
      const double sum = sum_of(q, counts), square = weights_[q] * weights_[q];
      for (std::size_t c = 0; c < args_.head_dim; ++c) {
        double given = 0;
        for (std::size_t i = 0; i < n_; ++i) given += shares_[q][i] * counts[i] * values[c][i];
        error += square *
                 (std::pow(wanted(q, c) - given / std::max(double{RefitArgs::kLeastMass}, sum), 2) +
                  std::pow((sum - 1) * wanted(q, c), 2));
      }
    }
    return error;
  }

  const RefitArgs& args_;
  std::size_t n_;
  Row weights_;  // [n_queries]
  Rows shares_;  // [n_queries][n_tokens]
  Rows values_;  // [head_dim][n_tokens]
};

}  // namespace

bool refit_lane(const RefitArgs& args) {
  SATCHEL_ASSERT(!args.tokens.empty() && args.weights.size() == args.tokens.size());
  std::ranges::fill(args.weights, 1.0f);
  return args.n_queries > args.n_held() && LaneFit(args).run();
}

Result<bool> ReferenceBackend::refit(const RefitArgs& args) {
  return refit_lane(args);
}

}  // namespace satchel::kernels::reference
