// Column sums of the attention matrix, key by key, in float64: what score() must compute.
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::reference {

Result<void> score(const ScoreArgs& args) {
  SATCHEL_ASSERT(args.positions.size() == args.n_tokens);
  SATCHEL_ASSERT(args.n_group > 0 && args.first_head + args.n_group <= args.n_heads);
  for (std::size_t j = 0; j < args.keys.n_tokens; ++j) {
    const Half* key = args.keys.k + j * args.head_dim;
    double sum = 0;
    for (std::size_t i = 0; i < args.n_tokens; ++i) {
      if (args.positions[i] < args.keys.positions[j]) continue;
      for (std::size_t h = args.first_head; h < args.first_head + args.n_group; ++h) {
        const std::size_t row = i * args.n_heads + h;
        double logit = 0;
        for (std::size_t c = 0; c < args.head_dim; ++c)
          logit += static_cast<double>(args.q[row * args.head_dim + c]) *
                   static_cast<double>(half_to_float(key[c]));
        sum +=
            std::exp(logit * static_cast<double>(args.scale) - static_cast<double>(args.lse[row]));
      }
    }
    args.scores[j] += static_cast<float>(sum / static_cast<double>(args.n_group));
  }
  return {};
}

}  // namespace satchel::kernels::reference
