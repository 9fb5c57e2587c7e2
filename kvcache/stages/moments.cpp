#include "kvcache/stages/moments.h"

#include <algorithm>

namespace satchel::kvcache {
namespace {

constexpr std::size_t kAtOnce = 64;  // rows

// One vector's n rows, `stride` floats apart.
class Joiner {
 public:
  explicit Joiner(std::size_t d) : d_(d), mean_(d), row_(d), scatter_(d * d) {}

  void join(const float* rows, std::size_t n, std::size_t stride, std::span<double> state) {
    take(rows, n, stride);
    const auto here = static_cast<double>(n);
    const double before = state[0];
    const std::span<double> mean = state.subspan(1, d_), scatter = state.subspan(1 + d_);
    for (std::size_t i = 0; i < d_; ++i) row_[i] = mean_[i] - mean[i];
    const double weight = before * here / (before + here);
    for (std::size_t i = 0; i < d_; ++i)
      for (std::size_t j = i; j < d_; ++j) {
        scatter[i * d_ + j] += scatter_[i * d_ + j] + weight * row_[i] * row_[j];
        scatter[j * d_ + i] = scatter[i * d_ + j];
      }
    const double step = here / (before + here);
    for (std::size_t i = 0; i < d_; ++i) mean[i] += step * row_[i];
    state[0] = before + here;
  }

 private:
  void take(const float* rows, std::size_t n, std::size_t stride) {
    std::fill(mean_.begin(), mean_.end(), 0.0);
    std::fill(scatter_.begin(), scatter_.end(), 0.0);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t i = 0; i < d_; ++i) mean_[i] += static_cast<double>(rows[t * stride + i]);
    for (double& x : mean_) x /= static_cast<double>(n);
    for (std::size_t t = 0; t < n; ++t) {
      for (std::size_t i = 0; i < d_; ++i)
        row_[i] = static_cast<double>(rows[t * stride + i]) - mean_[i];
      for (std::size_t i = 0; i < d_; ++i)
        for (std::size_t j = i; j < d_; ++j) scatter_[i * d_ + j] += row_[i] * row_[j];
    }
  }

  std::size_t d_;
  std::vector<double> mean_, row_, scatter_;
};

}  // namespace

Result<std::vector<double>> add_moments(kernels::Backend& backend, const ChunkRows& rows,
                                        float* to) {
  std::vector<double> state(rows.n_vectors * (1 + rows.d + rows.d * rows.d));
  SATCHEL_TRY(backend.download(std::as_writable_bytes(std::span(state)),
                               reinterpret_cast<const std::byte*>(to)));
  const std::size_t width = rows.n_vectors * rows.d, own = state.size() / rows.n_vectors;
  std::vector<float> piece(std::min(kAtOnce, rows.end - std::min(rows.first, rows.end)) * width);
  Joiner joiner(rows.d);
  for (std::size_t first = rows.first; first < rows.end; first += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, rows.end - first);
    SATCHEL_TRY(download(backend, std::span(piece).first(n * width), rows.x + first * width));
    for (std::size_t i = 0; i < rows.n_vectors; ++i)
      joiner.join(piece.data() + i * rows.d, n, width, std::span(state).subspan(i * own, own));
  }
  SATCHEL_TRY(backend.upload(reinterpret_cast<std::byte*>(to), std::as_bytes(std::span(state))));
  return state;
}

}  // namespace satchel::kvcache
