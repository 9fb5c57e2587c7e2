// Decode attention: see decode.h. K and V of a slice come through shared memory while the other of
// the two is worked on.
//   occupancy  see README.md
#include <climits>

#include "kernels/cuda/attention/decode.h"
#include "kernels/cuda/attention/decode_queries.h"
#include "kernels/cuda/attention/decode_scores.h"
#include "kernels/cuda/attention/decode_values.h"
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

// Blocks of a multiprocessor, by registers: so many that none are spilled.
template <unsigned kSets, unsigned kDim>
constexpr unsigned kBlocksAtOnce = (kSets == 1   ? kDim == 64 ? 5 : 6
                                    : kSets == 2 ? 5
                                                 : 4) -
                                   kDim / 128;

template <unsigned kSets, unsigned kDim>
__global__ void __launch_bounds__(kAttendThreads, (kBlocksAtOnce<kSets, kDim>))
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
  const unsigned begin = split * item.units_of_split, rest = item.n_units - begin;
  const unsigned n = rest < item.units_of_split ? rest : item.units_of_split;
  for (unsigned first = 0; first < n; first += kUnitsAtOnce) {
    block.find_units(begin + first, n - first < kUnitsAtOnce ? n - first : kUnitsAtOnce);
    attend_units(block, outputs, shift, query);
  }
  outputs.transform(block, false);
  const std::size_t stride = partial_floats(memory.kRows, call.head_dim);
  float* partials = call.partials + item.first_partial * stride;
  put_partial(block, outputs, partials + split * stride);
  if (!is_last_split(block, call.counters + blockIdx.x)) return;
  merge(block, partials);
}

template <class Call>
auto with_instance(unsigned n_sets, unsigned head_dim, const Call& call) {
  return with_sets(n_sets, [&](auto sets) {
    if (head_dim <= 64) return call(sets, std::integral_constant<unsigned, 64>());
    if (head_dim <= 128) return call(sets, std::integral_constant<unsigned, 128>());
    return call(sets, std::integral_constant<unsigned, 256>());
  });
}

}  // namespace

std::size_t attend_shared_bytes(const AttendCall& call, unsigned n_sets) {
  return with_instance(n_sets, call.head_dim, [&](auto sets, auto dim) {
    return sizeof(DecodeMemory<decltype(sets)::value, decltype(dim)::value>) + call.key_bytes +
           call.value_bytes;
  });
}

std::size_t attend_operand_bytes_max(unsigned head_dim, std::size_t shared_bytes_max) {
  const AttendCall call{.head_dim = head_dim, .key_bytes = kPlacesBytes};
  const std::size_t fixed = attend_shared_bytes(call, 1);
  const std::size_t most = attend_shared_most(shared_bytes_max);
  return most < fixed ? 0 : (most - fixed) / 2 / 16 * 16;
}

cudaError_t attend_decode(Queue& queue, const AttendCall& call, unsigned n_sets) {
  const Shape shape{dim3(call.n_items, call.n_splits), kAttendThreads,
                    attend_shared_bytes(call, n_sets)};
  return with_instance(n_sets, call.head_dim, [&](auto sets, auto dim) {
    return launch(queue, shape, attend_splits<decltype(sets)::value, decltype(dim)::value>, call);
  });
}

}  // namespace satchel::kernels::cuda
