// The queries of decode attention in the bases of pages' keys: see decode.h. A block takes a few
// neighbouring pages of an item. Those of one frame, shift and basis share the first one's rows.
//   sums    in order, so that a query has the same bits wherever its page stands
#include <bit>

#include "kernels/cuda/attention/decode.h"
#include "kernels/cuda/attention/decode_queries.h"
#include "kernels/cuda/pages/page_rows.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

// Chosen: a frame is four full pages long (kFrameTokens), and four frames' rows are what a thread
// can sum at once.
constexpr unsigned kPagesOfBlock = 16;

// What pages must have in common to share rows.
struct BasisOfPage {
  const PageBasis* basis;  // null: not in a basis
  std::int32_t frame, shift;
};

template <unsigned kSets>
struct TransformMemory {
  static constexpr unsigned kRows = kSets * kRowsOfSet;
  static constexpr unsigned kFirsts = 4 / kSets;  // whose rows are made at once

  alignas(16) float q[kFirsts * kRows * kCudaHeadDimMax];  // [kFirsts][kRows, head_dim]
  BasisOfPage pages[kPagesOfBlock];
  unsigned first_of[kPagesOfBlock];  // the first page that a page shares rows with
};

__device__ __forceinline__ BasisOfPage basis_of(const AttendItem& item, unsigned page) {
  const DeviceLanes& lanes = item.lanes;
  if (page >= lanes.lanes[item.lane].n_pages) return {nullptr, 0, 0};
  const DevicePage& at = lanes.pages[std::size_t{item.lane} * lanes.pages_of_lane + page];
  const LanePlan& plan = lanes.plans[at.plan];
  if (!is_in_basis(plan) || at.n_tokens == 0) return {nullptr, 0, 0};
  const auto* positions = reinterpret_cast<const std::int32_t*>(at.bytes + plan.page.positions_at);
  return {&plan.page.basis, frame_of(plan.page.basis, positions[0]), at.shift};
}

__device__ __forceinline__ bool share_rows(const BasisOfPage& a, const BasisOfPage& b) {
  return a.basis != nullptr && b.basis != nullptr && a.basis->from == b.basis->from &&
         a.frame == b.frame && a.shift == b.shift;
}

// The rows of an item as the keys of a page want them, before its basis. Ends behind a barrier.
__device__ __forceinline__ void rotate_rows(const AttendCall& call, const AttendItem& item,
                                            const BasisOfPage& page, unsigned n_rows, float* q) {
  const unsigned d = call.head_dim;
  for (unsigned i = threadIdx.x; i < n_rows * d; i += kAttendThreads)
    q[i] = query_value(call, item, i / d, i % d);
  __syncthreads();
  if (page.shift != 0 && call.n_pairs != 0)
    rotate_back(shift_pairs(call), page.shift, q, n_rows, d);
  constexpr double kCircle = 1 / 6.283185307179586476925;
  const PageBasis& basis = *page.basis;
  if (page.frame != 0)
    rotate_back({basis.frequencies, kCircle, basis.n_pairs, !basis.has_halves}, page.frame, q,
                n_rows, d);
}

// q · from, a thread a channel: sums[row].
template <unsigned kRows>
__device__ __forceinline__ void multiply_by_basis(const float* q, const float* from, unsigned d,
                                                  unsigned channel, float (&sums)[kRows]) {
  // Many loads at once: a block is alone on its multiprocessor, and nothing else hides how long the
  // matrix takes to come.
#pragma unroll 8
  for (unsigned i = 0; i < d; i += 4) {
    float column[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) column[k] = from[std::size_t{i + k} * d + channel];
#pragma unroll
    for (unsigned row = 0; row < kRows; ++row) {
      const float4 x = *reinterpret_cast<const float4*>(q + row * d + i);
      sums[row] = fmaf(x.x, column[0], sums[row]);
      sums[row] = fmaf(x.y, column[1], sums[row]);
      sums[row] = fmaf(x.z, column[2], sums[row]);
      sums[row] = fmaf(x.w, column[3], sums[row]);
    }
  }
}

template <unsigned kSets>
__global__ void __launch_bounds__(kAttendThreads) transform_item(const AttendCall call) {
  wait_for_launch_before();
  using Memory = TransformMemory<kSets>;
  constexpr unsigned kRows = Memory::kRows, kFirsts = Memory::kFirsts;
  const AttendItem& item = call.items[blockIdx.x];
  auto& memory = shared_memory<Memory>();
  const unsigned first = blockIdx.y * kPagesOfBlock, d = call.head_dim;
  const unsigned n_pages = item.lanes.lanes[item.lane].n_pages;
  if (first >= n_pages) return;
  const unsigned first_place = item.first_basis_place + first;
  if (threadIdx.x < kPagesOfBlock) memory.pages[threadIdx.x] = basis_of(item, first + threadIdx.x);
  __syncthreads();
  if (threadIdx.x < kPagesOfBlock) {
    unsigned shared = threadIdx.x;
    while (shared > 0 && share_rows(memory.pages[shared - 1], memory.pages[threadIdx.x])) --shared;
    memory.first_of[threadIdx.x] = shared;
    if (first + threadIdx.x < n_pages)
      call.basis_places[first_place + threadIdx.x] = first_place + shared;
  }
  __syncthreads();
  for (unsigned page = 0; page < kPagesOfBlock;) {
    // The next pages whose rows are to be made, of one basis; what is left out is zeros.
    unsigned firsts[kFirsts], n = 0;
    const float* from = nullptr;
    for (; page < kPagesOfBlock && n < kFirsts; ++page) {
      const BasisOfPage& at = memory.pages[page];
      if (at.basis == nullptr || memory.first_of[page] != page) continue;
      if (n > 0 && at.basis->from != from) break;
      from = at.basis->from;
#pragma unroll
      for (unsigned i = 0; i < kFirsts; ++i)
        if (i == n) firsts[i] = page;
      ++n;
    }
    if (n == 0) break;
#pragma unroll
    for (unsigned i = 0; i < kFirsts; ++i) {
      float* q = memory.q + i * kRows * d;
      if (i < n) rotate_rows(call, item, memory.pages[firsts[i]], kRows, q);
      for (unsigned k = threadIdx.x; i >= n && k < kRows * d; k += kAttendThreads) q[k] = 0;
    }
    __syncthreads();
    for (unsigned c = threadIdx.x; c < d; c += kAttendThreads) {
      float sums[kFirsts * kRows] = {};
      multiply_by_basis(memory.q, from, d, c, sums);
#pragma unroll
      for (unsigned i = 0; i < kFirsts; ++i) {
        if (i >= n) break;
        float* out = call.basis_queries + std::size_t{first_place + firsts[i]} * kRows * d + c;
#pragma unroll
        for (unsigned row = 0; row < kRows; ++row) out[row * d] = sums[i * kRows + row];
      }
    }
    __syncthreads();
  }
}

}  // namespace

cudaError_t transform_queries(Queue& queue, const AttendCall& call, unsigned n_sets,
                              unsigned n_pages_most) {
  // A power of two, so that the grid rarely changes while a lane grows.
  const unsigned n_blocks = std::bit_ceil(blocks_of(n_pages_most, kPagesOfBlock));
  return with_sets(n_sets, [&](auto sets) {
    constexpr unsigned kSets = decltype(sets)::value;
    const Shape shape{dim3(call.n_items, n_blocks), kAttendThreads, sizeof(TransformMemory<kSets>)};
    return launch(queue, shape, transform_item<kSets>, call);
  });
}

}  // namespace satchel::kernels::cuda
