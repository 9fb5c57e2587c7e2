#include "kvcache/stages/leverage.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "kernels/base/rng.h"

namespace satchel::kvcache {
namespace {

constexpr double kJitter = 1e-2;
constexpr int kTries = 5;

struct Matrix {
  std::size_t n_rows = 0, n_columns = 0;
  std::vector<double> x = std::vector<double>(n_rows * n_columns);
  double& at(std::size_t i, std::size_t j) { return x[i * n_columns + j]; }
  double at(std::size_t i, std::size_t j) const { return x[i * n_columns + j]; }
};

// Φᵀ S Φ.
Matrix sketched(const Moments& keys, const Matrix& sketch) {
  const std::size_t d = sketch.n_rows, k = sketch.n_columns;
  Matrix half{d, k}, gram{k, k};
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t c = 0; c < k; ++c)
        half.at(i, c) += keys.scatter[i * d + j] * sketch.at(j, c);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t a = 0; a < k; ++a)
      for (std::size_t b = 0; b < k; ++b) gram.at(a, b) += sketch.at(i, a) * half.at(i, b);
  return gram;
}

// The lower factor of gram + jitter · 1; nothing: it is not positive.
std::optional<Matrix> cholesky(const Matrix& gram, double jitter) {
  const std::size_t n = gram.n_rows;
  Matrix lower{n, n};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = (gram.at(i, j) + gram.at(j, i)) / 2 + (i == j ? jitter : 0);
      for (std::size_t c = 0; c < j; ++c) sum -= lower.at(i, c) * lower.at(j, c);
      if (i == j && !(sum > 0)) return std::nullopt;
      lower.at(i, j) = i == j ? std::sqrt(sum) : sum / lower.at(j, j);
    }
  return lower;
}

// Rows of L⁻¹ Φᵀ: a score is the squared length of what they make of a key.
Matrix whitening(const Moments& keys, const Matrix& sketch) {
  const Matrix gram = sketched(keys, sketch);
  std::optional<Matrix> lower;
  double jitter = kJitter;
  for (int i = 0; i < kTries && !lower; ++i, jitter *= 10) lower = cholesky(gram, jitter);
  const std::size_t d = sketch.n_rows, k = sketch.n_columns;
  Matrix rows{k, d};
  if (!lower) return rows;  // keys that are no numbers: none matters more than another
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t c = 0; c < d; ++c) {
      double sum = sketch.at(c, i);
      for (std::size_t j = 0; j < i; ++j) sum -= lower->at(i, j) * rows.at(j, c);
      rows.at(i, c) = sum / lower->at(i, i);
    }
  return rows;
}

}  // namespace

std::vector<double> gaussian_sketch(std::size_t head, std::size_t head_dim, std::size_t sketch) {
  Matrix made{head_dim, sketch > 0 ? sketch : head_dim};
  if (sketch == 0) {
    for (std::size_t i = 0; i < head_dim; ++i) made.at(i, i) = 1;
    return made.x;
  }
  Rng rng(head + 1);
  const double deviation = 1 / std::sqrt(static_cast<double>(sketch));
  for (double& x : made.x) {  // Box and Muller
    const double length = std::sqrt(-2 * std::log(1 - rng.uniform()));
    x = deviation * length * std::cos(2 * std::numbers::pi * rng.uniform());
  }
  return made.x;
}

Result<void> leverage(kernels::Backend& backend, const SpanLane& lane, const Moments& keys,
                      std::size_t sketch, std::span<float> scores) {
  const std::size_t d = lane.k.head_dim, k = sketch > 0 ? sketch : d;
  const Matrix rows = whitening(keys, {d, k, gaussian_sketch(lane.head(), d, sketch)});
  std::vector<float> key(d);
  return each_row(backend, lane.k, [&](std::size_t t, std::span<const float> row) {
    std::copy(row.begin(), row.end(), key.begin());
    lane.unrotate(t, key);
    for (std::size_t c = 0; c < d; ++c) key[c] -= static_cast<float>(keys.mean[c]);
    double squares = 0;
    for (std::size_t i = 0; i < k; ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < d; ++c) sum += rows.at(i, c) * static_cast<double>(key[c]);
      squares += sum * sum;
    }
    scores[t] = static_cast<float>(squares);
  });
}

}  // namespace satchel::kvcache
