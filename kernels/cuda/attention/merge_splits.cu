#include "kernels/cuda/attention/logsumexp_rows.h"
#include "kernels/cuda/device/launch.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128, kWarps = kThreads / kWarp;

// A warp a row; the second index of the grid is the item.
__global__ void __launch_bounds__(kThreads) merge_rows(const RowsCall call) {
  wait_for_launch_before();
  const RowsItem& item = call.items[blockIdx.y];
  const LaneRows& rows = item.rows;
  const std::size_t n_rows = item.n_rows(), d = rows.head_dim;
  const std::size_t row = std::size_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (row >= n_rows || item.n_splits == 1) return;
  const unsigned thread = threadIdx.x % kWarp;
  RowSum all = {kNothing, 0};
  for (unsigned s = 0; s < item.n_splits; ++s)
    all.most = fmaxf(all.most, item.sums[s * n_rows + row].most);
  const auto share = [&](unsigned s) {
    return all.most == kNothing ? 0
                                : exp2f((item.sums[s * n_rows + row].most - all.most) * kLog2OfE);
  };
  for (unsigned s = 0; s < item.n_splits; ++s)
    all.sum = fmaf(share(s), item.sums[s * n_rows + row].sum, all.sum);
  const std::size_t to = row / rows.n_group * rows.n_heads + rows.first_head + row % rows.n_group;
  const float factor = finish_row(call, item, to, all, thread == 0);
  if (item.out == nullptr) return;
  for (std::size_t c = thread; c < d; c += kWarp) {
    float sum = 0;
    for (unsigned s = 0; s < item.n_splits; ++s)
      sum = fmaf(share(s), item.parts[(s * n_rows + row) * d + c], sum);
    item.out[to * d + c] = sum * factor;
  }
}

}  // namespace

cudaError_t merge_splits(Queue& queue, const RowsCall& call, const RowsShape& shape) {
  return launch_stretches(shape.n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(shape.n_rows_max, kWarps), n);
    return launch(queue, {grid, kThreads}, merge_rows, from_item(call, first));
  });
}

}  // namespace satchel::kernels::cuda
