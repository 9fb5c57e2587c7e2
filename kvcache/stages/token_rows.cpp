#include "kvcache/stages/token_rows.h"

#include <algorithm>

namespace satchel::kvcache {
namespace {

constexpr std::size_t kTokensAtOnce = 128;  // in main memory; chosen

// [q k v] of some tokens of a chunk.
class ChunkPart {
 public:
  explicit ChunkPart(const Observation& seen)
      : seen_(seen),
        q_width_(seen.layer.n_heads * seen.layer.head_dim),
        kv_width_(seen.layer.n_kv_heads * seen.layer.head_dim) {}

  Result<void> load(kernels::Backend& backend, std::size_t first, std::size_t n) {
    const std::size_t d = seen_.layer.head_dim;
    q_.resize(n * q_width_);
    k_.resize(n * kv_width_);
    v_.resize(n * kv_width_);
    SATCHEL_TRY(download(backend, q_, seen_.pre_rope_q + first * q_width_));
    SATCHEL_TRY(download(backend, k_, seen_.pre_rope_k + first * kv_width_));
    for (std::size_t head = 0; head < seen_.layer.n_kv_heads; ++head) {
      const std::span<Half> of_head = std::span(v_).subspan(head * n * d, n * d);
      SATCHEL_TRY(download(backend, of_head, seen_.chunk[head].v + first * d));
    }
    n_ = n;
    return {};
  }
  //   out  row [q_width + 2 · kv_width]
  void row(std::size_t t, std::span<float> row) const {
    const std::size_t d = seen_.layer.head_dim;
    std::copy_n(q_.data() + t * q_width_, q_width_, row.data());
    std::copy_n(k_.data() + t * kv_width_, kv_width_, row.data() + q_width_);
    for (std::size_t i = 0; i < kv_width_; ++i)
      row[q_width_ + kv_width_ + i] = half_to_float(v_[(i / d * n_ + t) * d + i % d]);
  }

 private:
  const Observation& seen_;
  std::size_t q_width_, kv_width_, n_ = 0;
  std::vector<float> q_ = {}, k_ = {};  // [n, width]
  std::vector<Half> v_ = {};            // [n_kv_heads, n, head_dim]
};

}  // namespace

Result<void> each_token(kernels::Backend& backend, const Observation& seen,
                        const TakesToken& take) {
  ChunkPart part(seen);
  std::vector<float> row(seen.layer.selector_width());
  for (std::size_t first = 0; first < seen.batch.n_tokens; first += kTokensAtOnce) {
    const std::size_t n = std::min(kTokensAtOnce, seen.batch.n_tokens - first);
    SATCHEL_TRY(part.load(backend, first, n));
    for (std::size_t t = 0; t < n; ++t) {
      part.row(t, row);
      take(first + t, row);
    }
  }
  return {};
}

float dot_product(const float* a, const float* b, std::size_t n) {
  constexpr std::size_t kSums = 16;
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (std::size_t s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  for (; i < n; ++i) sums[i % kSums] += a[i] * b[i];
  for (std::size_t half = kSums / 2; half > 0; half /= 2)
    for (std::size_t s = 0; s < half; ++s) sums[s] += sums[s + half];
  return sums[0];
}

}  // namespace satchel::kvcache
