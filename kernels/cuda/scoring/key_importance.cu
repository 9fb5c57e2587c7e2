#include "kernels/cuda/scoring/key_importance.h"

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/block_sum.h"
#include "kernels/cuda/device/launch.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128, kWarps = kThreads / kWarp;

// A warp a key; the second index of the grid is the item.
__global__ void __launch_bounds__(kThreads)
    weigh_keys(const KeyImportanceItem* items, const float* weights) {
  wait_for_launch_before();
  const KeyImportanceItem item = items[blockIdx.y];
  const std::size_t token = std::size_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  const unsigned thread = threadIdx.x % kWarp;
  if (token >= item.n_tokens) return;
  const float* k = item.k + token * item.stride;
  const float* own = weights + item.weights_at;
  const float *linear = own + 1, *square = linear + item.head_dim;
  float sum = 0;
  for (unsigned c = thread; c < item.head_dim; c += kWarp)
    sum = fmaf(k[c], fmaf(square[c], k[c], linear[c]), sum);
  sum = warp_sum(sum) + own[0];
  if (thread != 0) return;
  constexpr auto kMost = static_cast<float>(kKeyImportanceMax);
  const float held = sum != sum ? -kMost : fminf(fmaxf(sum, -kMost), kMost);
  item.scores[token] = expf(held);
}

}  // namespace

cudaError_t key_importance(Queue& queue, const KeyImportanceItem* items, const float* weights,
                           std::size_t n_items, std::size_t n_tokens_max) {
  return launch_stretches(n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(n_tokens_max, kWarps), n);
    return launch(queue, {grid, kThreads}, weigh_keys, items + first, weights);
  });
}

}  // namespace satchel::kernels::cuda
