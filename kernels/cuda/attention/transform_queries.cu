// The queries of decode attention in the bases of pages' keys: see decode.h. A block takes a few
// neighbouring pages of an item. Those of one frame, shift and basis share the first one's rows.
//   sums    in order, so that a query has the same bits wherever its page stands
#include "kernels/cuda/attention/decode.h"
#include "kernels/cuda/attention/decode_queries.h"
#include "kernels/cuda/pages/page_rows.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

// Chosen: frames are four full pages long (kFrameTokens).
constexpr unsigned kPagesOfBlock = 4;

// What pages must have in common to share rows.
struct BasisOfPage {
  const PageBasis* basis;  // null: not in a basis
  std::int32_t frame, shift;
  unsigned place;
};

template <unsigned kRows>
struct TransformMemory {
  alignas(16) float q[kRows * kHeadDimMax];  // [kRows, head_dim]
  BasisOfPage pages[kPagesOfBlock];
};

__device__ __forceinline__ BasisOfPage basis_of(const AttendItem& item, unsigned page) {
  const DeviceLanes& lanes = item.lanes;
  if (page >= lanes.lanes[item.lane].n_pages) return {nullptr, 0, 0, 0};
  const DevicePage& at = lanes.pages[std::size_t{item.lane} * lanes.pages_of_lane + page];
  const LanePlan& plan = lanes.plans[at.plan];
  if (!is_in_basis(plan) || at.n_tokens == 0) return {nullptr, 0, 0, 0};
  const auto* positions = reinterpret_cast<const std::int32_t*>(at.bytes + plan.page.positions_at);
  return {&plan.page.basis, frame_of(plan.page.basis, positions[0]), at.shift,
          item.first_basis_place + page};
}

__device__ __forceinline__ bool share_rows(const BasisOfPage& a, const BasisOfPage& b) {
  return a.basis != nullptr && b.basis != nullptr && a.basis->from == b.basis->from &&
         a.frame == b.frame && a.shift == b.shift;
}

// q · from, a thread a channel: [kRows, head_dim].
template <unsigned kRows>
__device__ __forceinline__ void multiply_by_basis(const float* q, const float* from, unsigned d,
                                                  float* out) {
  for (unsigned c = threadIdx.x; c < d; c += kAttendThreads) {
    float sums[kRows] = {};
    for (unsigned i = 0; i < d; i += 4) {
      float column[4];
#pragma unroll
      for (unsigned k = 0; k < 4; ++k) column[k] = from[std::size_t{i + k} * d + c];
#pragma unroll
      for (unsigned row = 0; row < kRows; ++row) {
        const float4 x = *reinterpret_cast<const float4*>(q + row * d + i);
        sums[row] = fmaf(x.x, column[0], sums[row]);
        sums[row] = fmaf(x.y, column[1], sums[row]);
        sums[row] = fmaf(x.z, column[2], sums[row]);
        sums[row] = fmaf(x.w, column[3], sums[row]);
      }
    }
#pragma unroll
    for (unsigned row = 0; row < kRows; ++row) out[row * d + c] = sums[row];
  }
}

template <unsigned kSets>
__global__ void __launch_bounds__(kAttendThreads) transform_item(const AttendCall call) {
  constexpr unsigned kRows = kSets * kRowsOfSet;
  const AttendItem& item = call.items[blockIdx.x];
  auto& memory = shared_memory<TransformMemory<kRows>>();
  const unsigned first = blockIdx.y * kPagesOfBlock, d = call.head_dim;
  if (first >= item.lanes.lanes[item.lane].n_pages) return;
  if (threadIdx.x < kPagesOfBlock) memory.pages[threadIdx.x] = basis_of(item, first + threadIdx.x);
  __syncthreads();
  for (unsigned p = 0; p < kPagesOfBlock; ++p) {
    const BasisOfPage& page = memory.pages[p];
    if (page.basis == nullptr) continue;
    if (p > 0 && share_rows(page, memory.pages[p - 1])) {
      // The rows of the page before, which may be those of the one before it.
      __syncthreads();
      if (threadIdx.x == 0) memory.pages[p].place = memory.pages[p - 1].place;
      __syncthreads();
    } else {
      for (unsigned i = threadIdx.x; i < kRows * d; i += kAttendThreads)
        memory.q[i] = query_value(call, item, i / d, i % d);
      __syncthreads();
      if (page.shift != 0 && call.n_pairs != 0)
        rotate_back(shift_pairs(call), page.shift, memory.q, kRows, d);
      constexpr double kCircle = 1 / 6.283185307179586476925;
      const PageBasis& basis = *page.basis;
      if (page.frame != 0)
        rotate_back({basis.frequencies, kCircle, basis.n_pairs, !basis.has_halves}, page.frame,
                    memory.q, kRows, d);
      multiply_by_basis<kRows>(memory.q, basis.from, d,
                               call.basis_queries + std::size_t{page.place} * kRows * d);
      __syncthreads();
    }
    if (threadIdx.x == 0)
      call.basis_places[item.first_basis_place + first + p] = memory.pages[p].place;
  }
}

}  // namespace

cudaError_t transform_queries(Queue& queue, const AttendCall& call, unsigned n_sets,
                              unsigned n_pages_most) {
  // A power of two, so that the grid rarely changes while a lane grows.
  unsigned n_blocks = 1;
  while (n_blocks * kPagesOfBlock < n_pages_most) n_blocks *= 2;
  const auto of_sets = [&](auto sets) {
    constexpr unsigned kSets = decltype(sets)::value;
    const Shape shape{dim3(call.n_items, n_blocks), kAttendThreads,
                      sizeof(TransformMemory<kSets * kRowsOfSet>)};
    return launch(queue, shape, transform_item<kSets>, call);
  };
  if (n_sets == 1) return of_sets(std::integral_constant<unsigned, 1>());
  if (n_sets == 2) return of_sets(std::integral_constant<unsigned, 2>());
  return of_sets(std::integral_constant<unsigned, 4>());
}

}  // namespace satchel::kernels::cuda
