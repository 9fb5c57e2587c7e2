#include "kernels/cuda/pages.h"

#include "kernels/contract/row_order.h"
#include "kernels/contract/turn.h"
#include "kernels/cuda/affine.h"
#include "kernels/cuda/launch.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kRowsMax = kPageTokens * kHeadDimMax;

template <class T>
__device__ __forceinline__ T* plane_of(std::byte* page, std::uint32_t at) {
  return reinterpret_cast<T*>(page + at);
}
template <class T>
__device__ __forceinline__ const T* plane_of(const std::byte* page, std::uint32_t at) {
  return reinterpret_cast<const T*>(page + at);
}

// An affine operand as a matrix of codes: rows of K are tokens, rows of V channels.
struct Rows {
  unsigned n_rows, n_entries;  // as the layout has room
  bool are_tokens;
  unsigned head_dim;

  __device__ Rows(const PagePlan& plan, bool is_k)
      : n_rows(is_k ? plan.capacity : plan.head_dim),
        n_entries(is_k ? plan.head_dim : plan.capacity),
        are_tokens(is_k),
        head_dim(plan.head_dim) {}
  // Where the value of (row, entry) lies among tokens side by side, and how far the next row's is.
  __device__ std::size_t at(unsigned row, unsigned entry) const {
    return are_tokens ? std::size_t{row} * head_dim + entry : std::size_t{entry} * head_dim + row;
  }
  __device__ unsigned stride() const { return are_tokens ? head_dim : 1; }
  __device__ unsigned tokens_of(unsigned n_tokens) const { return are_tokens ? n_tokens : n_rows; }
};

__device__ float mend(float x, unsigned& n_nan, unsigned& n_infinite) {
  constexpr float kValueMost = 60000.0f;
  if (x != x) {
    ++n_nan;
    return 0;
  }
  if (fabsf(x) > 3.0e38f) ++n_infinite;
  return fminf(fmaxf(x, -kValueMost), kValueMost);
}

// All rows of [n_rows, head_dim], turned in place: butterflies of distance 1, 2, 4 …, then the norm.
__device__ void turn(float* rows, unsigned n_rows, unsigned head_dim) {
  const auto n = static_cast<unsigned>(turn_block(head_dim));
  const unsigned n_pairs = n_rows * head_dim / 2;
  for (unsigned distance = 1; distance < n; distance *= 2) {
    for (unsigned i = threadIdx.x; i < n_pairs; i += kThreads) {
      float* first = rows + i / distance * 2 * distance + i % distance;
      const float a = first[0], b = first[distance];
      first[0] = a + b;
      first[distance] = a - b;
    }
    __syncthreads();
  }
  const float norm = static_cast<float>(1 / sqrt(static_cast<double>(n)));
  for (unsigned i = threadIdx.x; i < n_rows * head_dim; i += kThreads) rows[i] *= norm;
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) begin_pages(const EncodeItem* items) {
  const EncodeItem& item = items[blockIdx.x];
  auto* words = plane_of<std::uint32_t>(item.page, 0);
  for (unsigned i = threadIdx.x; i < item.plan.bytes / 4; i += kThreads) words[i] = 0;
  __syncthreads();
  const auto n = static_cast<unsigned>(item.exact.n_tokens);
  auto* positions = plane_of<std::int32_t>(item.page, item.plan.positions_at);
  auto* counts = plane_of<float>(item.page, item.plan.log_counts_at);
  const bool has_counts = item.plan.log_counts_at != 0 && item.log_counts != nullptr;
  for (unsigned i = threadIdx.x; i < n; i += kThreads) {
    positions[i] = item.exact.positions[i];
    if (has_counts) counts[i] = item.log_counts[i];
  }
}

__device__ void put_exact(const PageOperand& operand, const float* x, unsigned n, std::byte* page) {
  auto* to = plane_of<std::uint16_t>(page, operand.values_at);
  for (unsigned i = threadIdx.x; i < n; i += kThreads) to[i] = half_nearest(x[i]);
}

// A thread a group and entry, in the order in which the plane has them.
__device__ void put_ranges(const PageOperand& operand, const Rows& rows, const float* x,
                           unsigned n_tokens, std::byte* page) {
  const Affine affine(operand);
  const unsigned n_rows = rows.tokens_of(n_tokens);
  const unsigned n = (n_rows + operand.group - 1) / operand.group * rows.n_entries;
  auto* scales = plane_of<std::uint16_t>(page, operand.scale_at);
  auto* zeros = plane_of<std::uint16_t>(page, operand.zero_at);
  for (unsigned i = threadIdx.x; i < n; i += kThreads) {
    const unsigned first = i / rows.n_entries * operand.group;
    const auto entry = static_cast<unsigned>(entry_of_slot(rows.n_entries, i % rows.n_entries));
    if (!rows.are_tokens && entry >= n_tokens) continue;
    const unsigned n_of_group = n_rows - first < operand.group ? n_rows - first : operand.group;
    const AffineGroup group = affine.range_of(x + rows.at(first, entry), n_of_group, rows.stride());
    scales[i] = group.scale;
    if (!operand.is_symmetric) zeros[i] = group.zero;
  }
}

__device__ AffineGroup group_at(const PageOperand& operand, const Rows& rows, unsigned row,
                                unsigned slot, const std::byte* page) {
  const unsigned at = row / operand.group * rows.n_entries + slot;
  const std::uint16_t scale = plane_of<std::uint16_t>(page, operand.scale_at)[at];
  if (operand.is_symmetric) return {scale, 0};
  return {scale, plane_of<std::uint16_t>(page, operand.zero_at)[at]};
}

// The words of one plane, a thread each: `bits` bits of every code, from bit `shift` on.
__device__ void put_plane(const PageOperand& operand, const Rows& rows, const float* x,
                          unsigned n_tokens, unsigned bits, unsigned shift, std::uint32_t at,
                          std::byte* page) {
  const Affine affine(operand);
  const auto words = static_cast<unsigned>(row_bytes(bits, rows.n_entries) / 4);
  auto* to = plane_of<std::uint32_t>(page, at);
  const unsigned n = rows.tokens_of(n_tokens) * words, per_word = 32 / bits;
  for (unsigned i = threadIdx.x; i < n; i += kThreads) {
    const unsigned row = i / words;
    std::uint32_t word = 0;
    for (unsigned s = i % words * per_word; s < (i % words + 1) * per_word; ++s) {
      if (s >= rows.n_entries) break;
      const auto entry = static_cast<unsigned>(entry_of_slot(rows.n_entries, s));
      if (!rows.are_tokens && entry >= n_tokens) continue;
      const AffineGroup group = group_at(operand, rows, row, s, page);
      const unsigned code = affine.code_of(group, x[rows.at(row, entry)]);
      word |= (code >> shift & ((1u << bits) - 1)) << bit_of_slot(bits, s);
    }
    to[i] = word;
  }
}

// A block an item and operand (0: K).
__global__ void __launch_bounds__(kThreads)
    encode_operands(const EncodeItem* items, float* work, PageCounts* counts) {
  const EncodeItem& item = items[blockIdx.y];
  const bool is_k = blockIdx.x == 0;
  const PageOperand& operand = is_k ? item.plan.k : item.plan.v;
  const auto n_tokens = static_cast<unsigned>(item.exact.n_tokens);
  const unsigned n = n_tokens * item.plan.head_dim;
  const Half* from = is_k ? item.exact.k : item.exact.v;
  if (operand.is_exact && !operand.is_turned) {
    auto* to = plane_of<std::uint16_t>(item.page, operand.values_at);
    for (unsigned i = threadIdx.x; i < n; i += kThreads) to[i] = from[i];
    return;
  }
  float* x = work + (std::size_t{blockIdx.y} * 2 + blockIdx.x) * kRowsMax;
  unsigned n_nan = 0, n_infinite = 0, not_counted = 0;
  for (unsigned i = threadIdx.x; i < n; i += kThreads)
    x[i] = mend(half_value(from[i]), n_nan, n_infinite);
  if (n_nan != 0) atomicAdd(&counts->n_nan, static_cast<unsigned long long>(n_nan));
  if (n_infinite != 0) atomicAdd(&counts->n_infinite, static_cast<unsigned long long>(n_infinite));
  __syncthreads();
  if (operand.is_turned) {
    turn(x, n_tokens, item.plan.head_dim);
    for (unsigned i = threadIdx.x; i < n; i += kThreads)
      x[i] = mend(x[i], not_counted, not_counted);
    __syncthreads();
  }
  if (operand.is_exact) return put_exact(operand, x, n, item.page);
  const Rows rows(item.plan, is_k);
  put_ranges(operand, rows, x, n_tokens, item.page);
  __syncthreads();
  const unsigned low = operand.low_bits;
  put_plane(operand, rows, x, n_tokens, operand.bits - low, low, operand.values_at, item.page);
  if (low != 0) put_plane(operand, rows, x, n_tokens, low, 0, operand.low_at, item.page);
}

__device__ unsigned code_at(const std::byte* page, std::uint32_t at, unsigned bits,
                            unsigned n_entries, unsigned row, unsigned slot) {
  const auto* words = plane_of<std::uint32_t>(page, at);
  const auto of_row = static_cast<unsigned>(row_bytes(bits, n_entries) / 4);
  return words[row * of_row + slot * bits / 32] >> bit_of_slot(bits, slot) & ((1u << bits) - 1);
}

__device__ float value_at(const PageOperand& operand, const Rows& rows, const std::byte* page,
                          unsigned row, unsigned slot) {
  unsigned code =
      code_at(page, operand.values_at, operand.bits - operand.low_bits, rows.n_entries, row, slot);
  if (operand.low_bits != 0)
    code = code << operand.low_bits |
           code_at(page, operand.low_at, operand.low_bits, rows.n_entries, row, slot);
  return Affine(operand).decode(group_at(operand, rows, row, slot, page), code);
}

__global__ void __launch_bounds__(kThreads) decode_operands(const DecodeItem* items) {
  const DecodeItem& item = items[blockIdx.y];
  const bool is_k = blockIdx.x == 0;
  float* out = is_k ? item.k : item.v;
  if (out == nullptr) return;
  const PageOperand& operand = is_k ? item.plan.k : item.plan.v;
  const Rows rows(item.plan, is_k);
  const unsigned d = item.plan.head_dim;
  for (unsigned i = threadIdx.x; i < item.n_tokens * d; i += kThreads) {
    if (operand.is_exact) {
      out[i] = half_value(plane_of<std::uint16_t>(item.page, operand.values_at)[i]);
      continue;
    }
    const unsigned row = is_k ? i / d : i % d, entry = is_k ? i % d : i / d;
    const auto slot = static_cast<unsigned>(slot_of_entry(rows.n_entries, entry));
    out[i] = value_at(operand, rows, item.page, row, slot);
  }
  __syncthreads();
  if (operand.is_turned) turn(out, item.n_tokens, d);
}

}  // namespace

cudaError_t encode_pages(cudaStream_t stream, const EncodeItem* items, std::size_t n_items,
                         float* work, PageCounts* counts) {
  const auto n = static_cast<unsigned>(n_items);
  const cudaError_t error = launch(stream, {n, kThreads}, begin_pages, items);
  if (error != cudaSuccess) return error;
  return launch(stream, {{2, n}, kThreads}, encode_operands, items, work, counts);
}

cudaError_t decode_pages(cudaStream_t stream, const DecodeItem* items, std::size_t n_items) {
  const dim3 grid(2, static_cast<unsigned>(n_items));
  return launch(stream, {grid, kThreads}, decode_operands, items);
}

}  // namespace satchel::kernels::cuda
