#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {

Result<std::int32_t> ReferenceBackend::argmax(const float* logits, std::size_t n) {
  SATCHEL_ASSERT(n > 0);
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isnan(logits[i])) return nan_among_logits(i);
    if (logits[i] > logits[best]) best = i;
  }
  return static_cast<std::int32_t>(best);
}

Result<void> ReferenceBackend::top_k(const float* logits, std::size_t n, std::span<Ranked> out) {
  SATCHEL_ASSERT(out.size() <= n);
  for (std::size_t i = 0; i < n; ++i)
    if (std::isnan(logits[i])) return nan_among_logits(i);
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b]; });
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {order[i], logits[order[i]]};
  return {};
}

}  // namespace satchel::kernels::reference
