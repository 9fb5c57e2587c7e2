// The shared memory of a block of decode.cu and the addresses of its inputs. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/attention/code_operands.h"
#include "kernels/cuda/attention/row_operands.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/async_copy.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kAttendThreads = kAttendWarps * kWarp;
inline constexpr unsigned kUnitsAtOnce = 8;  // of a split, known before they are read

// What the keys of a unit want of the query, besides their shift; from kQueryInBasis on, it lies at
// place query - kQueryInBasis of AttendCall::basis_queries.
inline constexpr unsigned kQueryPlain = 0, kQueryHadamard = 1, kQueryInBasis = 2;

// A page, or some tokens of a run.
struct Unit {
  const std::byte *k, *v;  // a page twice, or rows
  const std::int32_t* positions;
  const float* log_counts;     // null: none
  const std::uint32_t* quads;  // LanePlan's
  DecodeOperand k_operand, v_operand;
  unsigned capacity, slice_tokens;
  std::uint64_t live[kPageTokens / 64];
  unsigned n_tokens;
  std::int32_t shift;
  unsigned query;
  // Of pages that a warp can take (packed_pages.h):
  unsigned packed_kind;               // 0: it cannot
  const std::uint32_t* sorted_quads;  // LanePlan's
  bool is_all_seen;  // every row sees every token, none of which has a count
};

// Tokens `first` … of a unit: what is held at a time.
struct Slice {
  unsigned unit, first, n;
};

template <unsigned kSets, unsigned kDim>
struct DecodeMemory {
  static constexpr unsigned kRows = kSets * kRowsOfSet;
  static constexpr unsigned kGroups = 4 / kSets;  // whose columns are there at once
  static constexpr unsigned kKeyBytes = kGroups * kDim / 16 * kSets * kWarp * sizeof(uint2);
  static constexpr unsigned kValueBytes =
      kGroups * kUnitTokens / 16 * kSets * kWarp * sizeof(uint2);
  // Weights of neighbouring rows lie in different banks.
  static constexpr unsigned kWeightStride = kUnitTokens + 8;

  alignas(16) float q[kRows * kDim];  // [kRows, padded head_dim], as the unit's keys want it
  // Columns of a phase, or the output's rows while they are transformed. Of values with one group
  // they lie in the second half, so that those of keys without scales stay.
  alignas(16) std::byte columns[kKeyBytes > kValueBytes ? kKeyBytes : kValueBytes];
  alignas(16) float weights[kRows][kWeightStride];  // logits (of 2) first
  ColumnFactors key_factors[kGroups][kRows], value_factors[kGroups][kRows];
  float most[kRows], sum[kRows], rescale[kRows];
  std::int32_t positions[kRows], least[kRows];  // a row sees what stands from least on
  Unit units[kUnitsAtOnce];
  unsigned kept;     // of the units: those that a row may see
  unsigned is_last;  // block of its tile
};

// Unit `index` of a lane: its runs first, 128 tokens at a time, then its pages. False: it is not to
// be read, as no query from `least` to `most` sees it.
__device__ __forceinline__ bool find_unit(const AttendCall& call, const AttendItem& item,
                                          unsigned index, std::int32_t least, std::int32_t most,
                                          Unit& out) {
  const DeviceLanes& lanes = item.lanes;
  const DeviceLane lane = lanes.lanes[item.lane];
  const std::size_t row_values = call.head_dim;
  std::int32_t first_position = 0, last_position = 0;
  const DeviceRun* run = lanes.runs + std::size_t{item.lane} * lanes.runs_of_lane;
  unsigned i = 0, n_of_run = 0;
  for (; i < lane.n_runs; ++i, ++run, index -= n_of_run) {
    n_of_run = (run->n_tokens + kUnitTokens - 1) / kUnitTokens;
    if (index < n_of_run) break;
  }
  if (i < lane.n_runs) {
    const unsigned first = index * kUnitTokens, left = run->n_tokens - first;
    out = {};
    out.n_tokens = left < kUnitTokens ? left : kUnitTokens;
    out.slice_tokens = call.run_slice_tokens;
    out.k = reinterpret_cast<const std::byte*>(run->k + first * row_values);
    out.v = reinterpret_cast<const std::byte*>(run->v + first * row_values);
    out.positions = run->positions + first;
    for (std::uint64_t& word : out.live) word = ~std::uint64_t{0};
    first_position = out.positions[0];
    last_position = out.positions[out.n_tokens - 1];
  } else {
    const DevicePage& page = lanes.pages[std::size_t{item.lane} * lanes.pages_of_lane + index];
    const LanePlan& of_lane = lanes.plans[page.plan];
    const PagePlan& plan = of_lane.page;
    out.quads = of_lane.quads;
    out.k_operand = of_lane.k;
    out.v_operand = of_lane.v;
    out.capacity = plan.capacity;
    // A plan that never came must not keep a block for ever.
    out.slice_tokens = of_lane.slice_tokens < 16 ? 16 : of_lane.slice_tokens;
    out.k = out.v = page.bytes;
    if (!of_lane.has_kernel) {
      const unsigned place = call.decoded_places[item.first_place + index - item.first_page];
      const float* rows = call.decoded + 2 * kPageTokens * row_values * place;
      out.k = reinterpret_cast<const std::byte*>(rows);
      out.v = reinterpret_cast<const std::byte*>(rows + kPageTokens * row_values);
    }
    out.positions = reinterpret_cast<const std::int32_t*>(page.bytes + plan.positions_at);
    out.log_counts = plan.log_counts_at == 0
                         ? nullptr
                         : reinterpret_cast<const float*>(page.bytes + plan.log_counts_at);
    out.query = of_lane.k.is_transformed ? kQueryHadamard : kQueryPlain;
    if (is_in_basis(of_lane))
      out.query = kQueryInBasis + call.basis_places[item.first_basis_place + index];
    for (unsigned w = 0; w < kPageTokens / 64; ++w) out.live[w] = page.live[w];
    out.n_tokens = page.n_tokens;
    out.shift = page.shift;
    out.packed_kind = page.shift == 0 ? of_lane.packed_kind : 0;
    out.sorted_quads = of_lane.sorted_quads;
    first_position = page.first_position;
    last_position = page.last_position;
    if (page.n_tokens == 0) return false;
    out.is_all_seen = page.n_tokens == kPageTokens && out.log_counts == nullptr &&
                      (page.live[0] & page.live[1]) == ~std::uint64_t{0} &&
                      last_position <= least &&
                      (call.window == 0 || first_position > std::int64_t{most} - call.window);
  }
  const bool is_behind = call.window != 0 && static_cast<std::int64_t>(last_position) <=
                                                 static_cast<std::int64_t>(least) - call.window;
  return first_position <= most && !is_behind;
}

// n_bytes, a multiple of 16, by the block.
__device__ __forceinline__ void copy_plane(std::byte* to, const std::byte* from, unsigned n_bytes) {
#pragma unroll 1
  for (unsigned at = threadIdx.x * 16; at < n_bytes; at += kAttendThreads * 16)
    copy_16_bytes_async(to + at, from + at);
}
// n_rows of n_bytes each, side by side, to rows `stride` apart; filled with zeros to
// padded16(n_rows) rows and, behind each row, up to n_bytes_padded.
__device__ __forceinline__ void copy_rows(std::byte* to, const std::byte* from, unsigned n_rows,
                                          unsigned n_bytes, unsigned stride,
                                          unsigned n_bytes_padded) {
  const unsigned per_row = n_bytes_padded / 16;  // of 16 bytes; a thread's are kAttendThreads apart
  const unsigned rows_on = kAttendThreads / per_row, on = kAttendThreads % per_row;
  unsigned row = threadIdx.x / per_row, i = threadIdx.x % per_row;
#pragma unroll 1
  while (row < padded16(n_rows)) {
    std::byte* there = to + row * stride + i * 16;
    if (row < n_rows && i * 16 < n_bytes)
      copy_16_bytes_async(there, from + std::size_t{row} * n_bytes + i * 16);
    else
      *reinterpret_cast<uint4*>(there) = uint4{0, 0, 0, 0};
    row += rows_on;
    i += on;
    if (i >= per_row) i -= per_row, ++row;
  }
}

// copy_rows() of halves as long as the block's rows: a thread's lie below one another.
template <unsigned kDim>
__device__ __forceinline__ void copy_half_rows(std::byte* to, const std::byte* from,
                                               unsigned n_rows) {
  constexpr unsigned kPerRow = kDim / 8, kRowsOn = kAttendThreads / kPerRow;
  constexpr unsigned kStride = row_stride(Form::halves, kDim);
  const unsigned first = threadIdx.x / kPerRow, i = threadIdx.x % kPerRow;
  to += first * kStride + i * 16;
  from += threadIdx.x * 16;
  unsigned row = first;
#pragma unroll 4
  for (; row < n_rows; row += kRowsOn, to += kRowsOn * kStride, from += kAttendThreads * 16)
    copy_16_bytes_async(to, from);
#pragma unroll 1
  for (; row < padded16(n_rows); row += kRowsOn, to += kRowsOn * kStride)
    *reinterpret_cast<uint4*>(to) = uint4{0, 0, 0, 0};
}

// Mixed-bit keys: scales, zeros and the quads' places, then each quad's codes by a warp.
__device__ __forceinline__ void copy_mixed(const Unit& unit, unsigned head_dim, std::byte* to) {
  const DecodeOperand& keys = unit.k_operand;
  copy_plane(to, unit.k + keys.scale_at, 4 * head_dim);
  const unsigned n_quads = head_dim / kQuad, thread = threadIdx.x % kWarp;
  copy_plane(to + mixed_quads_at(head_dim), reinterpret_cast<const std::byte*>(unit.quads),
             4 * n_quads);
  const std::byte* from = unit.k + keys.values_at - mixed_codes_at(head_dim) + 16 * thread;
  // A quad's place is asked for once, by one thread of the warp that copies it.
  const unsigned warp = threadIdx.x / kWarp, of_thread = warp + thread * kAttendWarps;
  const unsigned place = of_thread < n_quads ? unit.quads[of_thread] : 0;
#pragma unroll 1
  for (unsigned i = 0, q = warp; q < n_quads; ++i, q += kAttendWarps) {
    const unsigned quad = __shfl_sync(~0u, place, static_cast<int>(i));
    const unsigned at = 4 * (quad >> 4), bits = quad & 15;
    if (thread < bits * unit.capacity / 32)
      copy_16_bytes_async(to + at + 16 * thread, from + at - 4 * kSkewWords * q);
  }
}

// K or V of a slice on its way to `to`, not committed.
template <unsigned kDim>
__device__ __forceinline__ void copy_part(const Unit& unit, const Slice& slice, bool is_k,
                                          unsigned head_dim, std::byte* to) {
  const DecodeOperand& operand = is_k ? unit.k_operand : unit.v_operand;
  const std::byte* from = is_k ? unit.k : unit.v;
  if (operand.form == Form::mixed) return copy_mixed(unit, head_dim, to);
  if (operand.form != Form::codes) {
    const unsigned of_value = operand.form == Form::halves ? 2 : 4, of_row = head_dim * of_value;
    from += operand.values_at + std::size_t{slice.first} * of_row;
    if (operand.form == Form::halves && head_dim == kDim)
      return copy_half_rows<kDim>(to, from, slice.n);
    return copy_rows(to, from, slice.n, of_row, row_stride(operand.form, head_dim),
                     padded16(head_dim) * of_value);
  }
  const CodePlaces& places = operand.places;
  copy_plane(to, from + operand.values_at, places.scale);
  copy_plane(to + places.scale, from + operand.scale_at, places.bytes - places.scale);
}

// Of a tile's row: its token in the batch and its query head.
__device__ __forceinline__ unsigned token_of_row(const AttendCall& call, const AttendItem& item,
                                                 unsigned row) {
  return item.first_token + (item.first_row + row) / call.n_group;
}
__device__ __forceinline__ unsigned head_of_row(const AttendCall& call, const AttendItem& item,
                                                unsigned row) {
  return item.kv_head * call.n_group + (item.first_row + row) % call.n_group;
}

// call(an integral_constant of n_sets: 1, 2 or 4)
template <class Call>
auto with_sets(unsigned n_sets, const Call& call) {
  if (n_sets == 1) return call(std::integral_constant<unsigned, 1>());
  if (n_sets == 2) return call(std::integral_constant<unsigned, 2>());
  return call(std::integral_constant<unsigned, 4>());
}

// What each thread of a block knows. Rows are the tile's.
template <unsigned kSets, unsigned kDim>
struct DecodeBlock {
  using Memory = DecodeMemory<kSets, kDim>;
  static constexpr unsigned kRows = Memory::kRows, kGroups = Memory::kGroups;

  const AttendCall& call;
  const AttendItem& item;
  Memory& memory;
  const unsigned warp, thread, head_dim, padded_dim;
  std::byte *const key_part, *const value_part;

  __device__ DecodeBlock(const AttendCall& of, const AttendItem& of_item, Memory& shared)
      : call(of),
        item(of_item),
        memory(shared),
        warp(threadIdx.x / kWarp),
        thread(threadIdx.x % kWarp),
        head_dim(of.head_dim),
        padded_dim(padded16(of.head_dim)),
        key_part(reinterpret_cast<std::byte*>(&shared + 1)),
        value_part(key_part + of.key_bytes) {}

  __device__ __forceinline__ unsigned token_of(unsigned row) const {
    return token_of_row(call, item, row);
  }
  __device__ __forceinline__ unsigned head_of(unsigned row) const {
    return head_of_row(call, item, row);
  }
  // Of this thread's column `i` (0 or 1) of a set: the two halves of a row are four columns apart.
  __device__ __forceinline__ unsigned row_of_column(unsigned set, unsigned i) const {
    return set * kRowsOfSet + (thread % 4 * 2 + i) % kRowsOfSet;
  }
  // Adds both halves of this thread's rows of a set: of its first output row if the thread is in
  // the front of its quad, else of its second.
  __device__ __forceinline__ void meet_halves(const float (&x)[4], float (&whole)[2]) const {
    const bool is_front = thread % 4 < 2;
    for (unsigned i = 0; i < 2; ++i) {
      const float kept = is_front ? x[i] : x[i + 2], sent = is_front ? x[i + 2] : x[i];
      whole[i] = kept + __shfl_xor_sync(~0u, sent, 2);
    }
  }
  __device__ uint2* key_columns() const { return reinterpret_cast<uint2*>(memory.columns); }
  __device__ uint2* value_columns(bool has_one_group) const {
    return key_columns() + (has_one_group && kGroups > 1 ? sizeof memory.columns / 16 : 0);
  }

  // Both end behind a barrier.
  __device__ __forceinline__ void begin() const {
    for (unsigned row = threadIdx.x; row < kRows; row += kAttendThreads) {
      const std::int32_t position = row < item.n_rows ? call.positions[token_of(row)] : INT_MIN;
      const std::int64_t behind = std::int64_t{position} - call.window;
      memory.positions[row] = position;
      memory.least[row] =
          call.window == 0 || behind < INT_MIN ? INT_MIN : static_cast<std::int32_t>(behind) + 1;
      memory.most[row] = -INFINITY;
      memory.sum[row] = memory.rescale[row] = 0;
    }
    __syncthreads();
  }
  // but_kind: not pages of this Unit::packed_kind; 0: all.
  __device__ __forceinline__ void find_units(unsigned first, unsigned n, unsigned but_kind) const {
    if (warp == 0) {
      const bool is_kept = thread < n &&
                           find_unit(call, item, first + thread, memory.positions[0],
                                     memory.positions[item.n_rows - 1], memory.units[thread]) &&
                           (but_kind == 0 || memory.units[thread].packed_kind != but_kind);
      const unsigned kept = __ballot_sync(~0u, is_kept);
      if (thread == 0) memory.kept = kept;
    }
    __syncthreads();
  }
};

}  // namespace satchel::kernels::cuda
