// The queries of decode attention in the bases of pages' keys: see decode.h. A block takes a few
// neighbouring pages of an item. Those of one frame, shift and basis share the first one's rows.
//   sums    alike for each row, so that a query has the same bits wherever its page stands; by
//           matrix instructions over sums of two halves (half_pair.h)
#include <bit>

#include "kernels/cuda/attention/code_operands.h"
#include "kernels/cuda/attention/decode.h"
#include "kernels/cuda/attention/decode_queries.h"
#include "kernels/cuda/pages/page_rows.h"
#include "kernels/cuda/primitives/load_matrix.h"
#include "kernels/cuda/primitives/mma.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

// Chosen: a frame is four full pages long (kFrameTokens), and four frames' rows of one set are
// kRowsAtOnce.
constexpr unsigned kPagesOfBlock = 16;

// What pages must have in common to share rows.
struct BasisOfPage {
  const PageBasis* basis;  // null: not in a basis
  std::int32_t frame, shift;
};

// Rows whose product with a basis is made at once: of as many pages as there is room for.
constexpr unsigned kRowsAtOnce = 16;
// Halves of a row: eight more than it has, so that rows lie in different banks.
constexpr unsigned half_stride(unsigned head_dim) {
  return (head_dim + 15) / 16 * 16 + 8;
}
constexpr unsigned kHalvesMost = kRowsAtOnce * half_stride(kCudaHeadDimMax);

struct TransformMemory {
  alignas(16) float q[kRowsAtOnce * kCudaHeadDimMax];                     // [page][kRows, head_dim]
  alignas(16) std::uint32_t high[kHalvesMost / 2], low[kHalvesMost / 2];  // q as sums of two halves
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

// The pages whose rows are to be made at once, of one basis: a bit each.
struct PagesAtOnce {
  unsigned pages = 0, n = 0;
  const PageBasis* basis = nullptr;

  __device__ __forceinline__ unsigned page(unsigned i) const {
    unsigned left = pages;
    for (; i > 0; --i) left &= left - 1;
    return static_cast<unsigned>(__popc((left & (0u - left)) - 1));
  }
};

// The rows of an item as the keys of each page want them before its basis, as sums of two halves;
// zeros behind them. Ends behind a barrier.
template <unsigned kRows>
__device__ __forceinline__ void set_rows(const AttendCall& call, const AttendItem& item,
                                         const PagesAtOnce& at_once, TransformMemory& memory) {
  const unsigned d = call.head_dim, stride = half_stride(d);
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < kRows * d; i += kAttendThreads) {
    const float x = query_value(call, item, i / d, i % d);
    for (unsigned p = 0; p < at_once.n; ++p) memory.q[p * kRows * d + i] = x;
  }
  __syncthreads();
  if (call.n_pairs != 0)
    rotate_back(
        shift_pairs(call), [&](unsigned p) { return memory.pages[at_once.page(p)].shift; },
        memory.q, at_once.n, kRows, d);
  constexpr double kCircle = 1 / 6.283185307179586476925;
  const PageBasis& basis = *at_once.basis;
  rotate_back(
      {basis.frequencies, kCircle, basis.n_pairs, !basis.has_halves},
      [&](unsigned p) { return memory.pages[at_once.page(p)].frame; }, memory.q, at_once.n, kRows,
      d);
  for (unsigned i = threadIdx.x; i < kRowsAtOnce * stride / 2; i += kAttendThreads) {
    const unsigned row = i / (stride / 2), c = i % (stride / 2) * 2;
    HalfPair pair = {0, 0};
    if (row < at_once.n * kRows && c < d) {
      const float* x = memory.q + row * d + c;
      pair = split_decoded(x[0], x[1]);
    }
    memory.high[i] = pair.high;
    memory.low[i] = pair.low;
  }
  __syncthreads();
}

// A warp's 32 channels of q · from, from `first` on: thread l has columns 8 · (l % 4) … of them, of
// rows l / 4 and 8 further on. Each factor is the sum of two halves; what the two lower ones give
// is left out.
struct BasisProducts {
  float of[4][4] = {};  // of the instruction's column n: channel 4n + i

  __device__ __forceinline__ void multiply(const TransformMemory& memory, const PageBasis& basis,
                                           unsigned d, unsigned first) {
    const unsigned thread = threadIdx.x % kWarp, t = thread % 4, channel = first + thread / 4 * 4;
    const unsigned at = thread % 16 * half_stride(d) + thread / 16 * 8;
    const auto* high = reinterpret_cast<const std::byte*>(memory.high) + 2 * at;
    const auto* low = reinterpret_cast<const std::byte*>(memory.low) + 2 * at;
#pragma unroll 4
    for (unsigned k = 0; k < d; k += 16) {
      float4 rows[4];
#pragma unroll
      for (unsigned r = 0; r < 4; ++r) {
        const unsigned row = k + 2 * t + r % 2 + r / 2 * 8;
        rows[r] =
            row < d && channel < d
                ? *reinterpret_cast<const float4*>(basis.from + std::size_t{row} * d + channel)
                : float4{0, 0, 0, 0};
      }
      std::uint32_t a_high[4], a_low[4];
      load_matrices<false>(high + 2 * k, a_high);
      load_matrices<false>(low + 2 * k, a_low);
      const auto add = [&](unsigned i, float a, float b, float c, float e) {
        const float factor = basis.from_factor;
        const HalfPair front = split_pair(a * factor, b * factor);
        const HalfPair back = split_pair(c * factor, e * factor);
        const std::uint32_t b_high[2] = {front.high, back.high}, b_low[2] = {front.low, back.low};
        multiply_add(of[i], a_high, b_high);
        multiply_add(of[i], a_high, b_low);
        multiply_add(of[i], a_low, b_high);
      };
      add(0, rows[0].x, rows[1].x, rows[2].x, rows[3].x);
      add(1, rows[0].y, rows[1].y, rows[2].y, rows[3].y);
      add(2, rows[0].z, rows[1].z, rows[2].z, rows[3].z);
      add(3, rows[0].w, rows[1].w, rows[2].w, rows[3].w);
    }
  }
  // The eight channels of this thread's first row, or of its second; n_left: that the row has.
  __device__ __forceinline__ void put(unsigned second, float factor, float* out,
                                      unsigned n_left) const {
    const unsigned i = 2 * second;
    const auto four = [&](unsigned column) -> float4 {
      return {of[0][column] * factor, of[1][column] * factor, of[2][column] * factor,
              of[3][column] * factor};
    };
    *reinterpret_cast<float4*>(out) = four(i);
    if (n_left > 4) *reinterpret_cast<float4*>(out + 4) = four(i + 1);
  }
};

template <unsigned kSets>
__global__ void __launch_bounds__(kAttendThreads) transform_item(const AttendCall call) {
  wait_for_launch_before();
  constexpr unsigned kRows = kSets * kRowsOfSet, kPagesAtOnce = kRowsAtOnce / kRows;
  const AttendItem& item = call.items[blockIdx.x];
  auto& memory = shared_memory<TransformMemory>();
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
  // The pages that share no other one's rows.
  const unsigned of_thread = threadIdx.x % kWarp;
  const bool is_first = of_thread < kPagesOfBlock && memory.pages[of_thread].basis != nullptr &&
                        memory.first_of[of_thread] == of_thread;
  unsigned left = __ballot_sync(~0u, is_first);
  while (left != 0) {
    PagesAtOnce at_once;
    for (unsigned rest = left; rest != 0 && at_once.n < kPagesAtOnce; rest &= rest - 1) {
      const unsigned bit = rest & (0u - rest);
      const PageBasis* basis = memory.pages[__popc(bit - 1)].basis;
      if (at_once.n > 0 && basis->from != at_once.basis->from) break;
      at_once = {at_once.pages | bit, at_once.n + 1, basis};
    }
    left &= ~at_once.pages;
    set_rows<kRows>(call, item, at_once, memory);
    for (unsigned c = threadIdx.x / kWarp * 32; c < d; c += kAttendWarps * 32) {
      BasisProducts products;
      products.multiply(memory, *at_once.basis, d, c);
      const unsigned thread = threadIdx.x % kWarp, channel = c + thread % 4 * 8;
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = thread / 4 + 8 * half, of_page = row / kRows;
        if (of_page >= at_once.n || channel >= d) continue;
        float* out = call.basis_queries +
                     (std::size_t{first_place + at_once.page(of_page)} * kRows + row % kRows) * d +
                     channel;
        products.put(half, 1 / at_once.basis->from_factor, out, d - channel);
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
    const Shape shape{dim3(call.n_items, n_blocks), kAttendThreads, sizeof(TransformMemory)};
    return launch(queue, shape, transform_item<kSets>, call);
  });
}

}  // namespace satchel::kernels::cuda
