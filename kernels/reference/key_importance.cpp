#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {

Result<void> ReferenceBackend::key_importance(std::span<const KeyImportanceArgs> items) {
  for (const KeyImportanceArgs& args : items) {
    SATCHEL_ASSERT(args.weights.size() == 1 + 2 * args.head_dim);
    for (std::size_t t = 0; t < args.n_tokens; ++t) {
      const float* k = args.k + t * args.stride;
      auto sum = static_cast<double>(args.weights[0]);
      for (std::size_t c = 0; c < args.head_dim; ++c) {
        const auto x = static_cast<double>(k[c]);
        const auto linear = static_cast<double>(args.weights[1 + c]);
        const auto square = static_cast<double>(args.weights[1 + args.head_dim + c]);
        sum += x * (linear + square * x);
      }
      if (std::isnan(sum)) sum = -kKeyImportanceMax;
      args.scores[t] =
          static_cast<float>(std::exp(std::clamp(sum, -kKeyImportanceMax, kKeyImportanceMax)));
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
