// A block an expert: it looks for its pairs among all, and counts those of the experts before it,
// whose blocks of tokens come first.
#include "kernels/cuda/experts/expert_lists.h"

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/experts/expert_choice.h"
#include "kernels/cuda/primitives/shared_memory.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / kWarp;

struct ListMemory {
  unsigned counts[kExpertsMost];  // of pairs
  unsigned of_warp[kWarps];       // of a stretch: pairs of this expert
};

// The expert's pairs, in order; their number.
__device__ unsigned list_pairs(const ExpertLists& lists, unsigned expert, ListMemory& memory) {
  const unsigned warp = threadIdx.x / kWarp, lower = (1u << threadIdx.x % kWarp) - 1;
  std::uint32_t* to = lists.pairs + std::size_t{expert} * lists.n_tokens;
  unsigned n = 0;
  for (unsigned begin = 0; begin < lists.n_pairs; begin += kThreads) {
    const unsigned pair = begin + threadIdx.x;
    const unsigned of_pair = pair < lists.n_pairs ? lists.experts[pair] : ~0u;
    if (of_pair != ~0u) atomicAdd(&memory.counts[of_pair], 1u);
    const unsigned here = __ballot_sync(~0u, of_pair == expert);
    if (threadIdx.x % kWarp == 0) memory.of_warp[warp] = static_cast<unsigned>(__popc(here));
    __syncthreads();
    unsigned place = n + static_cast<unsigned>(__popc(here & lower));
    for (unsigned w = 0; w < kWarps; ++w) {
      if (w < warp) place += memory.of_warp[w];
      n += memory.of_warp[w];
    }
    if (of_pair == expert) to[place] = pair;
    __syncthreads();
  }
  return n;
}

__global__ void __launch_bounds__(kThreads) list_pairs_of_experts(ExpertLists lists) {
  wait_for_launch_before();
  auto& memory = shared_memory<ListMemory>();
  const unsigned expert = blockIdx.x, of_block = lists.tokens_of_block;
  for (unsigned i = threadIdx.x; i < lists.n_experts; i += kThreads) memory.counts[i] = 0;
  __syncthreads();
  const unsigned n = list_pairs(lists, expert, memory);
  const auto blocks_with = [of_block](unsigned n_pairs) {
    return (n_pairs + of_block - 1) / of_block;
  };
  unsigned first = 0;
  for (unsigned i = threadIdx.x % kWarp; i < expert; i += kWarp)
    first += blocks_with(memory.counts[i]);
  first = warp_sum(first);
  const unsigned n_blocks = blocks_with(n), list = expert * lists.n_tokens;
  for (unsigned i = threadIdx.x; i < n_blocks; i += kThreads) {
    const unsigned at = i * of_block;
    lists.blocks[first + i] = {expert, list + at, n - at < of_block ? n - at : of_block};
  }
  if (expert + 1 < lists.n_experts) return;
  for (unsigned i = first + n_blocks + threadIdx.x; i < lists.n_blocks(); i += kThreads)
    lists.blocks[i] = {0, 0, 0};
}

}  // namespace

cudaError_t list_experts(Queue& queue, const ExpertLists& lists) {
  SATCHEL_ASSERT(lists.n_experts <= kExpertsMost);
  return launch(queue, {lists.n_experts, kThreads, sizeof(ListMemory)}, list_pairs_of_experts,
                lists);
}

}  // namespace satchel::kernels::cuda
