#include <algorithm>
#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/cpu/backend/backend_cpu.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kShareTokens = 128;  // chosen: they outlast waking a thread

}  // namespace

Result<void> CpuBackend::key_importance(std::span<const KeyImportanceArgs> items) {
  std::size_t most = 0;
  for (const KeyImportanceArgs& args : items) {
    SATCHEL_ASSERT(args.weights.size() == 1 + 2 * args.head_dim);
    most = std::max(most, args.n_tokens);
  }
  const VectorOpsTable& table = context_.kernels.vector_ops;
  const auto score = [&table](const KeyImportanceArgs& args, std::size_t t) {
    const float* linear = args.weights.data() + 1;
    const float sum = args.weights[0] + table.quadratic(args.k + t * args.stride, linear,
                                                        linear + args.head_dim, args.head_dim);
    constexpr auto kMost = static_cast<float>(kKeyImportanceMax);
    args.scores[t] = std::exp(std::isnan(sum) ? -kMost : std::clamp(sum, -kMost, kMost));
  };
  context_.pool.parallel_for(items.size() * most, kShareTokens,
                             [&](std::size_t begin, std::size_t end, std::size_t) {
                               for (std::size_t i = begin; i < end; ++i)
                                 if (i % most < items[i / most].n_tokens)
                                   score(items[i / most], i % most);
                             });
  return {};
}

}  // namespace satchel::kernels::cpu
