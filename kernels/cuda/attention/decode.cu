// Decode attention: see decode.h. Of a split, warps take packed pages first, one each. For the rest
// K and V of a slice come through the block's shared memory while the other is worked on.
#include <algorithm>
#include <climits>

#include "kernels/cuda/attention/decode.h"
#include "kernels/cuda/attention/decode_queries.h"
#include "kernels/cuda/attention/decode_scores.h"
#include "kernels/cuda/attention/decode_values.h"
#include "kernels/cuda/attention/packed_pages.h"
#include "kernels/cuda/attention/softmax_state.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

// The slices of the units that are kept, one after the other.
struct Slices {
  const Unit* units;
  unsigned left;  // units, a bit each
  Slice at = {};

  __device__ Slices(const Unit* of, unsigned kept) : units(of), left(kept) { begin_unit(); }
  __device__ bool is_at_end() const { return left == 0; }
  __device__ __forceinline__ void next() {
    const Unit& unit = units[at.unit];
    at.first += at.n;
    if (at.first < unit.n_tokens) return set_length(unit);
    left &= left - 1;
    begin_unit();
  }

 private:
  __device__ __forceinline__ void begin_unit() {
    if (left == 0) return;
    at.unit = static_cast<unsigned>(__popc((left & (0u - left)) - 1));
    at.first = 0;
    set_length(units[at.unit]);
  }
  __device__ __forceinline__ void set_length(const Unit& unit) {
    const unsigned most = unit.slice_tokens, rest = unit.n_tokens - at.first;
    at.n = rest < most ? rest : most;
  }
};

template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void load_keys(const DecodeBlock<kSets, kDim>& block,
                                          const Slices& slices) {
  if (!slices.is_at_end()) {
    const Slice& slice = slices.at;
    const Unit& unit = block.memory.units[slice.unit];
    for (unsigned i = threadIdx.x; i < slice.n; i += kAttendThreads) {
      copy_4_bytes_async(block.key_part + 4 * i, unit.positions + slice.first + i);
      if (unit.log_counts != nullptr)
        copy_4_bytes_async(block.key_part + 4 * (kUnitTokens + i),
                           unit.log_counts + slice.first + i);
    }
    copy_part<kDim>(unit, slice, true, block.head_dim, block.key_part + kPlacesBytes);
  }
  commit_copies();
}
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void load_values(const DecodeBlock<kSets, kDim>& block,
                                            const Slices& slices) {
  if (!slices.is_at_end())
    copy_part<kDim>(block.memory.units[slices.at.unit], slices.at, false, block.head_dim,
                    block.value_part);
  commit_copies();
}

// Whether the columns of such values leave those of keys alone.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ bool keeps_key_columns(const DecodeBlock<kSets, kDim>& block,
                                                  const DecodeOperand& values) {
  const unsigned n_tiles = block.padded_dim / 16;
  return block.kGroups > 1 && tiles_of_group(values, n_tiles) >= n_tiles;
}

// The units that were found, with K of the next slice on its way while V of this one is used.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void attend_units(const DecodeBlock<kSets, kDim>& block,
                                             Outputs<kSets, kDim>& outputs, std::int32_t& shift,
                                             unsigned& query) {
  auto& memory = block.memory;
  Slices here(memory.units, memory.kept), ahead = here;
  bool are_columns_kept = false;  // of the keys
  // The first round only sets out to copy: one place for each copy keeps the code short, and the
  // instructions of all rounds in the cache.
  for (bool has_slice = false; !here.is_at_end(); here = ahead, has_slice = true) {
    const Unit& unit = memory.units[here.at.unit];
    if (has_slice) {
      if (shift != unit.shift || query != unit.query) {
        shift = unit.shift;
        query = unit.query;
        set_queries(block, shift, query);
        are_columns_kept = false;
      }
      if (outputs.transform(block, unit.v_operand.is_transformed)) are_columns_kept = false;
      wait_for_copies<1>();
      __syncthreads();
      const bool have_no_scales = !has_codes(unit.k_operand.form);
      score(block, unit, here.at, are_columns_kept && have_no_scales);
      are_columns_kept = have_no_scales && keeps_key_columns(block, unit.v_operand);
      ahead.next();
    }
    load_keys(block, ahead);
    if (has_slice) {
      weigh(block, padded16(here.at.n));
      wait_for_copies<1>();
      __syncthreads();
      outputs.add(block, unit, here.at);
    }
    load_values(block, ahead);
  }
  wait_for_copies<0>();
  __syncthreads();
}

// Whether this block is the last of its tile's. Ends behind a barrier; one thread's fences stand
// for all: the barriers order the others' accesses with them.
//   source  PTX ISA, memory consistency model (causality order)
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ bool is_last_split(const DecodeBlock<kSets, kDim>& block,
                                              unsigned* counter) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // what the block wrote, before it is counted
    const unsigned n_splits = block.item.n_splits, n_before = atomicAdd(counter, 1u);
    block.memory.is_last = n_before + 1 == n_splits ? 1 : 0;
    if (block.memory.is_last != 0) atomicAdd(counter, 0u - n_splits);
    __threadfence();  // what the others wrote, after they were
  }
  __syncthreads();
  return block.memory.is_last != 0;
}

// Queries in the order of codes. Ends behind a barrier.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void set_packed_queries(const DecodeBlock<kSets, kDim>& block,
                                                   bool is_transformed, float* to) {
  using Staged = StagedRow<kDim>;
  constexpr unsigned kOfThread = DecodeBlock<kSets, kDim>::kRows * kDim / kAttendThreads;
  float x[kOfThread];  // all on their way at once
#pragma unroll
  for (unsigned i = 0; i < kOfThread; ++i) {
    const unsigned at = threadIdx.x + i * kAttendThreads;
    x[i] = query_value(block.call, block.item, at / kDim, at % kDim);
  }
  // Mixed-bit keys without a basis read them by channel.
#pragma unroll
  for (unsigned i = 0; i < kOfThread; ++i) block.memory.q[threadIdx.x + i * kAttendThreads] = x[i];
  if (is_transformed) {
    __syncthreads();
    transform_rows(block, block.memory.q);
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i)
      x[i] = block.memory.q[threadIdx.x + i * kAttendThreads];
  }
#pragma unroll
  for (unsigned i = 0; i < kOfThread; ++i) {
    const unsigned at = threadIdx.x + i * kAttendThreads, row = at / kDim;
    const unsigned slot = static_cast<unsigned>(slot_of_entry(kDim, at % kDim));
    const unsigned in_block = slot % Staged::kBlock;
    to[row * Staged::kFloats + Staged::at(slot / Staged::kBlock, in_block / Staged::kShare,
                                          in_block % Staged::kShare)] = x[i];
  }
  __syncthreads();
}

// The units of a split: those that warps take alone, a page each. All are of one Unit::packed_kind,
// that of the first such page, seen or not. Returns that kind, 0 if there is none; has_others: the
// block must take the rest. Ends behind a barrier. Nothing is prefetched: whole pages asked for
// ahead, into the second-level cache, took an H200 a tenth longer.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ unsigned take_packed_pages(const DecodeBlock<kSets, kDim>& block,
                                                      unsigned begin, unsigned n,
                                                      Outputs<kSets, kDim>& outputs,
                                                      bool& has_others) {
  auto& memory = block.memory;
  auto& of_warps = *reinterpret_cast<PackedMemory<kSets, kDim>*>(block.key_part);
  PackedPages<kSets, kDim> pages(block, of_warps);
  unsigned kind = 0;
  bool has_queries = false;
  has_others = false;
  for (unsigned first = 0; first < n; first += kUnitsAtOnce) {
    const unsigned n_here = n - first < kUnitsAtOnce ? n - first : kUnitsAtOnce;
    block.find_units(begin + first, n_here, 0);
    const Unit& of_thread = memory.units[block.thread % kUnitsAtOnce];
    const bool is_kept = block.thread < kUnitsAtOnce && (memory.kept >> block.thread & 1) != 0;
    const unsigned packed =
        __ballot_sync(~0u, block.thread < n_here && memory.units[block.thread].packed_kind != 0);
    if (kind == 0 && packed != 0)
      kind = memory.units[__popc((packed & (0u - packed)) - 1)].packed_kind;
    const bool is_taken = is_kept && kind != 0 && of_thread.packed_kind == kind;
    const unsigned taken = __ballot_sync(~0u, is_taken);
    has_others = has_others || taken != memory.kept;
    if (!has_queries && __ballot_sync(~0u, is_taken && of_thread.query < kQueryInBasis) != 0) {
      set_packed_queries(block, are_keys_transformed(kind), pages.queries());
      has_queries = true;
    }
#pragma unroll 1
    for (unsigned i = block.warp; i < kUnitsAtOnce; i += kAttendWarps)
      if ((taken >> i & 1) != 0) pages.add(memory.units[i]);
    __syncthreads();
  }
  if (kind == 0) return 0;
  auto* rows = reinterpret_cast<float*>(memory.columns);
  pages.join(rows);
  if (are_values_transformed(kind)) transform_rows(block, rows);
  outputs.take(block, rows);
  return kind;
}

// Blocks of a multiprocessor, by registers: so many that none are spilled.
template <unsigned kSets, unsigned kDim>
constexpr unsigned kBlocksAtOnce = (kSets == 1   ? kDim == 64 ? 5 : 6
                                    : kSets == 2 ? 5
                                                 : 4) -
                                   kDim / 128;
// Measured on an H200, one set of head_dim 128: of five blocks, with more spills, 4 bits took 15 %
// longer, of three 25 %.
template <unsigned kSets, unsigned kDim>
constexpr unsigned kPackedBlocksAtOnce = kDim == 256  ? 2
                                         : kSets == 1 ? 4
                                                      : 3;

// kHasPacked: there may be pages that warps take alone.
template <unsigned kSets, unsigned kDim, bool kHasPacked>
__global__ void __launch_bounds__(kAttendThreads, (kHasPacked ? kPackedBlocksAtOnce<kSets, kDim>
                                                              : kBlocksAtOnce<kSets, kDim>))
    attend_splits(const AttendCall call) {
  wait_for_launch_before();
  const AttendItem item = call.items[blockIdx.x];
  const unsigned split = call.first_split + blockIdx.y;
  if (split >= item.n_splits) return;
  auto& memory = shared_memory<DecodeMemory<kSets, kDim>>();
  const DecodeBlock<kSets, kDim> block(call, item, memory);
  Outputs<kSets, kDim> outputs;
  block.begin();
  std::int32_t shift = 0;
  unsigned query = UINT_MAX;  // none yet
  const unsigned begin = item.first_unit(split);
  unsigned n = item.first_unit(split + 1) - begin, packed_kind = 0;
  if constexpr (kHasPacked) {
    bool has_others = true;  // a single unit is a run
    if (split >= item.n_single)
      packed_kind = take_packed_pages(block, begin, n, outputs, has_others);
    if (!has_others) n = 0;
  }
  for (unsigned first = 0; first < n; first += kUnitsAtOnce) {
    block.find_units(begin + first, n - first < kUnitsAtOnce ? n - first : kUnitsAtOnce,
                     packed_kind);
    attend_units(block, outputs, shift, query);
  }
  outputs.transform(block, false);
  const std::size_t stride = partial_floats(memory.kRows, call.head_dim);
  float* partials = call.partials + item.first_partial * stride;
  put_partial(block, outputs, partials + split * stride);
  if (!is_last_split(block, call.counters + blockIdx.x)) return;
  merge(block, partials);
}

// What a block of the instance holds, and the instance.
template <unsigned kSets, unsigned kDim, bool kHasPacked>
struct Instance {
  static std::size_t shared_bytes(const AttendCall& call) {
    std::size_t parts = call.key_bytes + call.value_bytes;
    if constexpr (kHasPacked) {
      constexpr std::size_t kPacked = sizeof(PackedMemory<kSets, kDim>);
      static_assert(sizeof(DecodeMemory<kSets, kDim>) + kPacked <= (kSets == 1 ? 64 : 99) * 1024,
                    "sm_75 has 64 KiB a block, which one set must fit");
      parts = std::max(parts, kPacked);
    }
    return sizeof(DecodeMemory<kSets, kDim>) + parts;
  }
  static constexpr auto kernel() { return attend_splits<kSets, kDim, kHasPacked>; }
};

template <unsigned kDim, class Call>
auto with_instance_of_dim(const AttendCall& of, unsigned n_sets, const Call& call) {
  return with_sets(n_sets, [&](auto sets) {
    constexpr unsigned kSets = decltype(sets)::value;
    if constexpr (kSets <= kPackedSetsMost)
      if (of.has_packed) return call(Instance<kSets, kDim, true>());
    return call(Instance<kSets, kDim, false>());
  });
}
template <class Call>
auto with_instance(const AttendCall& of, unsigned n_sets, const Call& call) {
  if (of.head_dim <= 64) return with_instance_of_dim<64>(of, n_sets, call);
  if (of.head_dim <= 128) return with_instance_of_dim<128>(of, n_sets, call);
  return with_instance_of_dim<256>(of, n_sets, call);
}

}  // namespace

std::size_t attend_shared_bytes(const AttendCall& call, unsigned n_sets) {
  return with_instance(call, n_sets,
                       [&](auto instance) { return decltype(instance)::shared_bytes(call); });
}

std::size_t attend_operand_bytes_max(unsigned head_dim, std::size_t shared_bytes_max) {
  const AttendCall call{.head_dim = head_dim, .key_bytes = kPlacesBytes};
  const std::size_t fixed = attend_shared_bytes(call, 1);
  const std::size_t most = attend_shared_most(shared_bytes_max);
  return most < fixed ? 0 : (most - fixed) / 2 / 16 * 16;
}

cudaError_t attend_decode(Queue& queue, const AttendCall& call, unsigned n_sets) {
  return with_instance(call, n_sets, [&](auto instance) {
    const Shape shape{dim3(call.n_items, call.n_splits), kAttendThreads,
                      decltype(instance)::shared_bytes(call)};
    return launch(queue, shape, decltype(instance)::kernel(), call);
  });
}

}  // namespace satchel::kernels::cuda
