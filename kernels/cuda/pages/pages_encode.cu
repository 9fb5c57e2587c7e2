#include "kernels/contract/row_order.h"
#include "kernels/contract/transform.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/pages/affine.h"
#include "kernels/cuda/pages/mixed_bit_codes.h"
#include "kernels/cuda/pages/page_rows.h"
#include "kernels/cuda/pages/pages.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128, kTransformThreads = 256;

// Which slice of which item a block packs, `n` slices to an item.
struct Place {
  unsigned item, slice;
  __device__ __forceinline__ explicit Place(unsigned n)
      : item(blockIdx.x / n), slice(blockIdx.x % n) {}
};

__global__ void __launch_bounds__(kThreads) begin_pages(const EncodeItem* items) {
  wait_for_launch_before();
  const EncodeItem& item = items[blockIdx.x];
  auto* page = plane_of<uint4>(item.page, 0);
  for (unsigned i = threadIdx.x; i < item.plan.bytes / 16; i += kThreads) page[i] = {0, 0, 0, 0};
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

// Keys transformed by a basis, mended before and after, into work [capacity, head_dim].
__global__ void __launch_bounds__(kTransformThreads)
    transform_keys(const EncodeItem* items, unsigned n_slices, std::size_t work_of_item,
                   float* work, PageCounts* counts) {
  wait_for_launch_before();
  const Place place(n_slices);
  const EncodeItem& item = items[place.item];
  const auto n_all = static_cast<unsigned>(item.exact.n_tokens);
  const unsigned first = place.slice * kUnpackTokens, d = item.plan.head_dim;
  if (item.plan.k.transform != Transform::basis || item.plan.k.form == PageForm::coded ||
      first >= n_all)
    return;
  const unsigned n = n_all - first < kUnpackTokens ? n_all - first : kUnpackTokens;
  const PageRows rows{&shared_memory<float>(), d + 4, n, d};
  const Half* from = item.exact.k + std::size_t{first} * d;
  Mended mended, not_counted;
  for (unsigned i = threadIdx.x; i < (n + 3) / 4 * d; i += kTransformThreads) {
    const unsigned token = i / (d / 4), channel = i % (d / 4) * 4;
    put_four(rows.x + token * rows.stride + channel,
             token < n ? load_mended(from + std::size_t{i} * 4, mended) : float4{0, 0, 0, 0});
  }
  add_counts(mended, counts);
  __syncthreads();
  rotate<kTransformThreads>(item.plan.basis, -frame_of(item.plan.basis, item.exact.positions[0]),
                            rows.x + kUnpackTokens * rows.stride, rows);
  multiply<kTransformThreads>(item.plan.basis.to, rows);
  float* to = work + place.item * work_of_item + std::size_t{first} * d;
  for (unsigned i = threadIdx.x; i < n * d; i += kTransformThreads)
    to[i] = mend(rows.x[i / d * rows.stride + i % d], not_counted);
}

// What a block packs: an operand's tokens first_token … or channels first_channel …
struct Slice {
  const EncodeItem& item;
  const PageOperand& operand;
  bool is_k;
  unsigned first_token, first_channel;
  PageRows rows;
};

__device__ __forceinline__ unsigned least(unsigned a, unsigned b) {
  return a < b ? a : b;
}

__device__ __forceinline__ Slice slice_of(const EncodeItem& item, bool is_k, unsigned number) {
  const PageOperand& operand = is_k ? item.plan.k : item.plan.v;
  const auto n_tokens = static_cast<unsigned>(item.exact.n_tokens);
  const unsigned d = item.plan.head_dim, first = number * operand.slice;
  if (!operand.slices_tokens) {
    const unsigned n = least(operand.slice, d - first);
    return {item, operand, is_k, 0, first, {nullptr, n + 1, n_tokens, n}};
  }
  const unsigned n = n_tokens < first ? 0 : least(operand.slice, n_tokens - first);
  return {item, operand, is_k, first, 0, {nullptr, d + 1, n, d}};
}

__device__ __forceinline__ void copy_exact(const Slice& slice) {
  const unsigned d = slice.item.plan.head_dim;
  const std::size_t first = std::size_t{slice.first_token} * d;
  const auto* from = reinterpret_cast<const uint4*>(
      (slice.is_k ? slice.item.exact.k : slice.item.exact.v) + first);
  auto* to = plane_of<uint4>(slice.item.page, slice.operand.values_at) + first / 8;
  for (unsigned i = threadIdx.x; i < slice.rows.n_tokens * d / 8; i += kThreads) to[i] = from[i];
}

// Rows as they are packed: mended, transformed, mended again.
__device__ __forceinline__ void load_rows(const Slice& slice, const float* transformed,
                                          PageCounts* counts) {
  const PageRows& rows = slice.rows;
  const unsigned d = slice.item.plan.head_dim, fours = rows.n_channels / 4;
  const std::size_t first = std::size_t{slice.first_token} * d + slice.first_channel;
  const Half* from = (slice.is_k ? slice.item.exact.k : slice.item.exact.v) + first;
  Mended mended, not_counted;
  for (unsigned i = threadIdx.x; i < rows.n_tokens * fours; i += kThreads) {
    const unsigned token = i / fours, channel = i % fours * 4;
    const std::size_t at = std::size_t{token} * d + channel;
    put_four(rows.x + token * rows.stride + channel,
             slice.operand.transform == Transform::basis
                 ? *reinterpret_cast<const float4*>(transformed + first + at)
                 : load_mended(from + at, mended));
  }
  add_counts(mended, counts);
  __syncthreads();
  if (slice.operand.transform != Transform::hadamard) return;
  transform_hadamard<kThreads>(rows, static_cast<unsigned>(hadamard_block(d)),
                               slice.item.plan.transform_norm);
  for (unsigned i = threadIdx.x; i < rows.n_tokens * rows.n_channels; i += kThreads) {
    float& x = rows.x[i / rows.n_channels * rows.stride + i % rows.n_channels];
    x = mend(x, not_counted);
  }
  __syncthreads();
}

__device__ __forceinline__ void put_exact(const Slice& slice) {
  const unsigned d = slice.item.plan.head_dim;
  auto* to = plane_of<std::uint16_t>(slice.item.page, slice.operand.values_at) +
             std::size_t{slice.first_token} * d;
  for (unsigned i = threadIdx.x; i < slice.rows.n_tokens * d; i += kThreads)
    to[i] = half_nearest(slice.rows.x[i / d * slice.rows.stride + i % d]);
}

// An affine slice as a matrix of codes: its rows are tokens (K) or channels (V); entries across
// them, all that the layout has room for.
struct Matrix {
  const Slice& slice;
  unsigned first_row, n_rows, n_entries, n_filled;  // entries that are there
  unsigned row_step, entry_step;

  __device__ __forceinline__ explicit Matrix(const Slice& of)
      : slice(of),
        first_row(of.is_k ? of.first_token : of.first_channel),
        n_rows(of.is_k ? of.rows.n_tokens : of.rows.n_channels),
        n_entries(of.is_k ? of.item.plan.head_dim : of.item.plan.capacity),
        n_filled(of.is_k ? n_entries : of.rows.n_tokens),
        row_step(of.is_k ? of.rows.stride : 1),
        entry_step(of.is_k ? 1 : of.rows.stride) {}
  __device__ __forceinline__ const float* at(unsigned row, unsigned entry) const {
    return slice.rows.x + row * row_step + entry * entry_step;
  }
};

// A thread a group and entry; words [group of the slice][slot], then the page's planes.
__device__ __forceinline__ void put_ranges(const Matrix& matrix, const Affine& affine,
                                           std::uint32_t* words) {
  const PageOperand& operand = matrix.slice.operand;
  const unsigned n_entries = matrix.n_entries, group = operand.group;
  const unsigned n = (matrix.n_rows + group - 1) / group * n_entries;
  for (unsigned i = threadIdx.x; i < n; i += kThreads) {
    const unsigned first = i / n_entries * group, entry = i % n_entries;
    std::uint32_t word = 0;
    if (entry < matrix.n_filled)
      word =
          affine.find(matrix.at(first, entry), least(group, matrix.n_rows - first), matrix.row_step)
              .word();
    words[i - entry + static_cast<unsigned>(slot_of_entry(n_entries, entry))] = word;
  }
  __syncthreads();
  const std::size_t at = std::size_t{matrix.first_row / group} * n_entries;
  auto* scales = plane_of<std::uint16_t>(matrix.slice.item.page, operand.scale_at) + at;
  auto* zeros = plane_of<std::uint16_t>(matrix.slice.item.page, operand.zero_at) + at;
  for (unsigned i = threadIdx.x; i < n; i += kThreads) {
    scales[i] = static_cast<std::uint16_t>(words[i] & 0xffffu);
    if (!operand.is_symmetric) zeros[i] = static_cast<std::uint16_t>(words[i] >> 16);
  }
}

// The codes of a row's slots `first` … `first` + n, in the bits of two planes' words.
struct CodeWords {
  std::uint32_t values[2] = {}, low = 0;
};

// A thread a word; of 3 bits the two words of upper bits and the one of lowest that belong
// together.
__device__ __forceinline__ CodeWords codes_of(const Matrix& matrix, const Affine& affine,
                                              const std::uint32_t* ranges, unsigned row,
                                              unsigned first, unsigned n) {
  const PageOperand& operand = matrix.slice.operand;
  const unsigned low_bits = operand.low_bits, bits = operand.bits - low_bits;
  CodeWords out;
  for (unsigned slot = first; slot < first + n && slot < matrix.n_entries; ++slot) {
    const auto entry = static_cast<unsigned>(entry_of_slot(matrix.n_entries, slot));
    if (entry >= matrix.n_filled) continue;
    const Affine::Range range =
        Affine::range(ranges[row / operand.group * matrix.n_entries + slot]);
    const auto code = static_cast<unsigned>(affine.code_of(range, *matrix.at(row, entry)));
    const std::uint32_t upper = code >> low_bits << bit_of_slot(bits, slot);
    if ((slot - first) * bits < 32)
      out.values[0] |= upper;
    else
      out.values[1] |= upper;
    if (low_bits != 0) out.low |= (code & 1) << bit_of_slot(1, slot);
  }
  return out;
}

__device__ __forceinline__ void put_codes(const Matrix& matrix, const Affine& affine,
                                          const std::uint32_t* ranges) {
  const PageOperand& operand = matrix.slice.operand;
  const unsigned bits = operand.bits - operand.low_bits;
  const unsigned per_thread = operand.low_bits == 0 ? 32 / bits : 32;
  const unsigned of_row = (matrix.n_entries + per_thread - 1) / per_thread;
  const auto row_words = static_cast<unsigned>(row_bytes(bits, matrix.n_entries) / 4);
  auto* values = plane_of<std::uint32_t>(matrix.slice.item.page, operand.values_at) +
                 std::size_t{matrix.first_row} * row_words;
  auto* low = plane_of<std::uint32_t>(matrix.slice.item.page, operand.low_at) +
              std::size_t{matrix.first_row} * of_row;
  for (unsigned i = threadIdx.x; i < matrix.n_rows * of_row; i += kThreads) {
    const unsigned row = i / of_row, part = i % of_row;
    const CodeWords words = codes_of(matrix, affine, ranges, row, part * per_thread, per_thread);
    const unsigned at = part * (per_thread * bits / 32);
    values[row * row_words + at] = words.values[0];
    if (operand.low_bits == 0) continue;
    if (at + 1 < row_words) values[row * row_words + at + 1] = words.values[1];
    low[i] = words.low;
  }
}

// A block a slice of an item's keys (y 0) or values.
__global__ void __launch_bounds__(kThreads)
    pack_slices(const EncodeItem* items, const PackShape shape, float* work, PageCounts* counts) {
  wait_for_launch_before();
  const Place place(shape.n_slices);
  const bool is_k = blockIdx.y == 0;
  Slice slice = slice_of(items[place.item], is_k, place.slice);
  if (slice.operand.form == PageForm::coded || place.slice >= slice.operand.n_slices ||
      slice.rows.n_tokens == 0)
    return;
  if (slice.operand.form == PageForm::exact && slice.operand.transform == Transform::none)
    return copy_exact(slice);
  float* const lent = work + place.item * shape.work_floats();
  float* const shared = &shared_memory<float>();
  slice.rows.x = shape.is_shared ? shared + shape.range_words
                                 : lent + shape.basis_floats +
                                       (std::size_t{blockIdx.y} * shape.n_slices + place.slice) *
                                           shape.slice_floats;
  load_rows(slice, lent, counts);
  if (slice.operand.form == PageForm::exact) return put_exact(slice);
  if (slice.operand.form == PageForm::mixed_bit)
    return MixedBitPacker<kThreads>{slice.item.plan, slice.rows, slice.first_channel,
                                    slice.item.page, shared}
        .pack();
  const Matrix matrix(slice);
  const Affine affine(slice.operand);
  auto* ranges = reinterpret_cast<std::uint32_t*>(shared);
  put_ranges(matrix, affine, ranges);
  put_codes(matrix, affine, ranges);
}

}  // namespace

cudaError_t encode_pages(Queue& queue, const EncodeItem* items, std::size_t n_items,
                         const PackShape& shape, float* work, PageCounts* counts) {
  const auto n = static_cast<unsigned>(n_items);
  cudaError_t error = launch(queue, {n, kThreads}, begin_pages, items);
  if (error == cudaSuccess && shape.basis_floats != 0) {
    constexpr unsigned kSlices = kPageTokens / kUnpackTokens;
    const std::size_t shared = unpack_floats(kCudaHeadDimMax) + kCudaHeadDimMax;
    error = launch(queue, {n * kSlices, kTransformThreads, shared * sizeof(float)}, transform_keys,
                   items, kSlices, shape.work_floats(), work, counts);
  }
  if (error != cudaSuccess || shape.n_slices == 0) return error;
  const std::size_t shared = shape.range_words + (shape.is_shared ? shape.slice_floats : 0);
  return launch(queue, {{n * shape.n_slices, 2}, kThreads, shared * sizeof(float)}, pack_slices,
                items, shape, work, counts);
}

}  // namespace satchel::kernels::cuda
