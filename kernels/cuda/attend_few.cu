// Decode attention: see attend.h. K and V of a slice come through shared memory while the other of
// the two is worked on.
//   occupancy  see README.md
#include <cmath>

#include "kernels/cuda/attend.h"
#include "kernels/cuda/attend_block.h"
#include "kernels/cuda/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr float kLog2E = 1.44269504088896340736f, kLn2 = 0.69314718055994530942f;

template <unsigned kSets, unsigned kDim>
struct Block {
  using Memory = FewMemory<kSets, kDim>;
  static constexpr unsigned kRows = Memory::kRows, kGroups = Memory::kGroups;
  static constexpr unsigned kTiles = kDim / 16 / kAttendWarps;  // of channels, of a warp

  const AttendCall& call;
  const AttendItem& item;
  Memory& memory;
  const unsigned warp, lane, head_dim, padded_dim;
  std::byte *const key_part, *const value_part;
  Products<kSets> out[kTiles] = {};
  bool out_is_turned = false;

  __device__ Block(const AttendCall& of, const AttendItem& of_item, Memory& shared)
      : call(of),
        item(of_item),
        memory(shared),
        warp(threadIdx.x / kWarp),
        lane(threadIdx.x % kWarp),
        head_dim(of.head_dim),
        padded_dim(padded16(of.head_dim)),
        key_part(reinterpret_cast<std::byte*>(&shared + 1)),
        value_part(key_part + of.key_bytes) {}

  __device__ __forceinline__ unsigned token_of(unsigned row) const {
    return item.first_token + (item.first_row + row) / call.n_group;
  }
  __device__ __forceinline__ unsigned head_of(unsigned row) const {
    return item.kv_head * call.n_group + (item.first_row + row) % call.n_group;
  }
  // Of this lane's column `i` (0 or 1) of a set: the two halves of a row are four columns apart.
  __device__ __forceinline__ unsigned row_of_column(unsigned set, unsigned i) const {
    return set * kRowsOfSet + (lane % 4 * 2 + i) % kRowsOfSet;
  }
  // Both halves of this lane's rows of a set together: of its first output row where the lane is in the
  // front of its quad, else of its second.
  __device__ __forceinline__ void meet_halves(const float (&x)[4], float (&whole)[2]) const {
    const bool is_front = lane % 4 < 2;
    for (unsigned i = 0; i < 2; ++i) {
      const float kept = is_front ? x[i] : x[i + 2], sent = is_front ? x[i + 2] : x[i];
      whole[i] = kept + __shfl_xor_sync(~0u, sent, 2);
    }
  }
  __device__ uint2* columns() const { return reinterpret_cast<uint2*>(memory.columns); }

  __device__ __forceinline__ void begin() {
    for (unsigned row = threadIdx.x; row < kRows; row += kAttendThreads) {
      memory.positions[row] = row < item.n_rows ? call.positions[token_of(row)] : INT_MIN;
      memory.most[row] = -INFINITY;
      memory.sum[row] = memory.rescale[row] = 0;
    }
    __syncthreads();
  }

  // Ends behind a barrier.
  __device__ __forceinline__ void find_units(unsigned first, unsigned n) {
    if (warp == 0) {
      const bool is_kept =
          lane < n && find_unit(call, item, first + lane, memory.positions[0],
                                memory.positions[item.n_rows - 1], memory.units[lane]);
      const unsigned kept = __ballot_sync(~0u, is_kept);
      if (lane == 0) memory.kept = kept;
    }
    __syncthreads();
  }

  // Butterflies of distance 1, 2, 4 … over rows side by side, then the norm. Ends behind a barrier.
  __device__ __forceinline__ void turn(float* rows) {
    for (unsigned distance = 1; distance < call.turn_block; distance *= 2) {
      for (unsigned i = threadIdx.x; i < kRows * padded_dim / 2; i += kAttendThreads) {
        float* first = rows + i / distance * 2 * distance + i % distance;
        const float a = first[0], b = first[distance];
        first[0] = a + b;
        first[distance] = a - b;
      }
      __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < kRows * padded_dim; i += kAttendThreads)
      rows[i] *= call.turn_norm;
    __syncthreads();
  }

  __device__ __forceinline__ void turn_back(std::int32_t shift) {
    for (unsigned i = threadIdx.x; i < kRows * call.n_pairs; i += kAttendThreads) {
      const unsigned row = i / call.n_pairs, pair = i % call.n_pairs;
      const double turns = -static_cast<double>(shift) * call.turns[pair];
      float sine, cosine;
      sincospif(2 * static_cast<float>(turns - rint(turns)), &sine, &cosine);
      float* first = memory.q + row * padded_dim + (call.pairs_are_adjacent ? 2 * pair : pair);
      float* second = first + (call.pairs_are_adjacent ? 1 : call.n_pairs);
      const float a = *first, b = *second;
      *first = fmaf(a, cosine, -(b * sine));
      *second = fmaf(a, sine, b * cosine);
    }
    __syncthreads();
  }

  // Queries as keys of this shift and turn want them. Ends behind a barrier.
  __device__ __forceinline__ void set_queries(std::int32_t shift, bool is_turned) {
    const float factor = call.soft_cap > 0 ? call.scale / call.soft_cap : call.scale * kLog2E;
    for (unsigned i = threadIdx.x; i < kRows * padded_dim; i += kAttendThreads) {
      const unsigned row = i / padded_dim, c = i % padded_dim;
      float x = 0;
      if (row < item.n_rows && c < head_dim)
        x = call.q[(std::size_t{token_of(row)} * call.n_heads + head_of(row)) * head_dim + c];
      memory.q[i] = x * factor;
    }
    __syncthreads();
    if (shift != 0 && call.n_pairs != 0) turn_back(shift);
    if (is_turned) turn(memory.q);
  }

  // The part's matrix of codes and the scales of its group, where they lie in shared memory.
  __device__ CodeRows rows_of(const PageOperand& affine, const std::byte* part, unsigned n_rows,
                              unsigned n_entries) const {
    return {
        reinterpret_cast<const std::uint32_t*>(part),
        reinterpret_cast<const std::uint32_t*>(part + code_places(affine, n_rows, n_entries).low),
        n_entries};
  }
  __device__ GroupScales scales_of(const PageOperand& affine, const std::byte* part,
                                   unsigned n_rows, unsigned n_entries, unsigned group) const {
    const CodePlaces places = code_places(affine, n_rows, n_entries);
    const auto plane = [&](unsigned at) {
      return reinterpret_cast<const std::uint16_t*>(part + at) + group * n_entries;
    };
    return {plane(places.scale), affine.is_symmetric ? nullptr : plane(places.zero),
            static_cast<float>(1u << (affine.bits - 1)), n_entries};
  }

  // Columns of n_groups groups: each row of x times the group's scales; warp w makes rows w, w + 4 …
  template <unsigned kPairs, class Scales>
  __device__ __forceinline__ void make_columns(const float* x, unsigned stride, unsigned n_steps,
                                               unsigned n_groups, unsigned steps_of_group,
                                               const Scales& scales) {
    for (unsigned job = warp; job < n_groups * kRows; job += kAttendWarps) {
      const unsigned group = job / kRows, row = job % kRows;
      uint2* to = columns() + (group * steps_of_group * kSets + row / kRowsOfSet) * kWarp;
      const ColumnFactors factors = make_column<kPairs, kSets>(x + row * stride, n_steps * 8,
                                                               scales(group), row % kRowsOfSet, to);
      if (lane == 0) memory.factors[group][row] = factors;
    }
  }

  // Logits of the slice, -infinity where a row does not see a token. Begins and ends at a barrier.
  __device__ __forceinline__ void score(const Unit& unit, const Slice& slice) {
    const UnitOperand keys = operand_of(unit, true);
    const std::byte* part = key_part + kPlacesBytes;
    const unsigned n_steps = padded_dim / 16, n_tiles = padded16(slice.n) / 16;
    const bool has_codes = keys.form == Form::codes;
    const unsigned tiles_of_group = has_codes ? keys.affine->group / 16 : n_tiles;
    const unsigned capacity = has_codes ? unit.plan->page.capacity : 0;
    for (unsigned tile = 0; tile < n_tiles; tile += kGroups * tiles_of_group) {
      const unsigned first_group = tile / tiles_of_group, left = n_tiles - tile;
      const unsigned n_here = left < kGroups * tiles_of_group ? left : kGroups * tiles_of_group;
      make_columns<kDim / 64>(
          memory.q, padded_dim, n_steps, (n_here + tiles_of_group - 1) / tiles_of_group, kDim / 16,
          [&](unsigned group) {
            if (!has_codes) return GroupScales{};
            return scales_of(*keys.affine, part, capacity, head_dim, first_group + group);
          });
      __syncthreads();
      for (unsigned i = warp; i < n_here; i += kAttendWarps) {
        const unsigned row0 = (tile + i) * 16 + lane / 4, group = i / tiles_of_group;
        const uint2* b = columns() + group * (kDim / 16) * kSets * kWarp + lane;
        Products<kSets> logits = {};
        if (has_codes)
          multiply_codes(keys.affine->bits, rows_of(*keys.affine, part, capacity, head_dim), row0,
                         row0 + 8, n_steps, b, logits);
        else
          multiply_keys(keys.form, {part, row_stride(keys.form, head_dim)}, row0, row0 + 8, n_steps,
                        b, logits);
        put_logits(unit, slice, logits, (tile + i) * 16, group);
      }
      __syncthreads();
    }
  }

  // Half of a quad has the one token, half the other.
  __device__ __forceinline__ void put_logits(const Unit& unit, const Slice& slice,
                                             const Products<kSets>& logits, unsigned first_token,
                                             unsigned group) {
    const unsigned token = first_token + lane / 4 + lane % 4 / 2 * 8, slot = slice.first + token;
    const bool is_there = token < slice.n && ((unit.live[slot / 64] >> (slot % 64)) & 1) != 0;
    const auto* positions = reinterpret_cast<const std::int32_t*>(key_part);
    const auto* counts = reinterpret_cast<const float*>(key_part) + kUnitTokens;
    const std::int64_t position =
        is_there ? std::int64_t{positions[token]} + unit.shift : std::int64_t{0};
    const float count = is_there && unit.log_counts != nullptr ? counts[token] * kLog2E : 0.0f;
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      float x[2];
      meet_halves(logits.of[set], x);
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned row = row_of_column(set, i);
        const ColumnFactors factors = memory.factors[group][row];
        float logit = fmaf(x[i], factors.inverse, factors.offset);
        if (call.soft_cap > 0) logit = call.soft_cap * kLog2E * tanhf(logit);
        const std::int64_t back = memory.positions[row] - position;
        const bool is_seen =
            is_there && back >= 0 && (call.window == 0 || back < std::int64_t{call.window});
        memory.weights[row][token] = is_seen ? logit + count : -INFINITY;
      }
    }
  }

  // Logits to weights, by the largest logit so far. A row is one warp's, as in make_columns().
  __device__ __forceinline__ void weigh(unsigned n_padded) {
    for (unsigned row = warp; row < item.n_rows; row += kAttendWarps) {
      float* x = memory.weights[row];
      const float before = memory.most[row];
      float most = before, sum = 0;
      for (unsigned t = lane; t < n_padded; t += kWarp) most = fmaxf(most, x[t]);
      for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, lanes));
      for (unsigned t = lane; t < n_padded; t += kWarp) {
        const float weight = most == -INFINITY ? 0.0f : exp2f(x[t] - most);
        x[t] = weight;
        sum += weight;
      }
      sum = warp_sum(sum);
      __syncwarp();
      if (lane != 0) continue;
      const float rescale = before == -INFINITY ? 0.0f : exp2f(before - most);
      memory.most[row] = most;
      memory.rescale[row] = rescale;
      memory.sum[row] = memory.sum[row] * rescale + sum;
    }
    __syncwarp();
  }

  // out = out · rescale + weights · V. Ends at a barrier.
  __device__ __forceinline__ void add_values(const Unit& unit, const Slice& slice) {
    const UnitOperand values = operand_of(unit, false);
    const bool has_codes = values.form == Form::codes;
    const unsigned n_steps = padded16(slice.n) / 16, n_tiles = padded_dim / 16;
    const unsigned tiles_of_group = has_codes ? values.affine->group / 16 : n_tiles;
    const unsigned capacity = has_codes ? unit.plan->page.capacity : 0;
    for (unsigned tile = 0; tile < n_tiles; tile += kGroups * tiles_of_group) {
      const unsigned first_group = tile / tiles_of_group, left = n_tiles - tile;
      const unsigned n_here = left < kGroups * tiles_of_group ? left : kGroups * tiles_of_group;
      make_columns<kUnitTokens / 64>(
          &memory.weights[0][0], Memory::kWeightStride, n_steps,
          (n_here + tiles_of_group - 1) / tiles_of_group, kUnitTokens / 16, [&](unsigned group) {
            if (!has_codes) return GroupScales{};
            return scales_of(*values.affine, value_part, head_dim, capacity, first_group + group);
          });
      __syncthreads();
#pragma unroll 1
      for (unsigned i = 0; i < kTiles; ++i) {
        const unsigned here = warp + i * kAttendWarps;
        if (here < tile || here >= tile + n_here) continue;
        const unsigned channel = here * 16 + lane / 4 * 2, group = (here - tile) / tiles_of_group;
        const uint2* b = columns() + group * (kUnitTokens / 16) * kSets * kWarp + lane;
        Products<kSets> sums = {};
        if (has_codes)
          multiply_codes(values.affine->bits,
                         rows_of(*values.affine, value_part, head_dim, capacity), channel,
                         channel + 1, n_steps, b, sums);
        else
          multiply_values(values.form, {value_part, row_stride(values.form, head_dim)}, channel,
                          n_steps, b, sums);
        add_tile(i, group, sums);
      }
      __syncthreads();
    }
  }

  __device__ __forceinline__ void add_tile(unsigned tile, unsigned group,
                                           const Products<kSets>& sums) {
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = row_of_column(set, i % 2);
        const ColumnFactors factors = memory.factors[group][row];
        const float rescale = memory.rescale[row], offset = lane % 4 < 2 ? factors.offset : 0.0f;
        const float more = fmaf(sums.of[set][i], factors.inverse, offset);
#pragma unroll
        for (unsigned k = 0; k < kTiles; ++k)
          if (k == tile) out[k].of[set][i] = fmaf(out[k].of[set][i], rescale, more);
      }
    }
  }

  // Every output of this lane, both halves of its row together: body(row, channel, value).
  template <class Body>
  __device__ __forceinline__ void for_each_output(const Body& body) {
#pragma unroll
    for (unsigned k = 0; k < kTiles; ++k) {
      const unsigned channel = (warp + k * kAttendWarps) * 16 + lane / 4 * 2 + lane % 4 / 2;
#pragma unroll
      for (unsigned set = 0; set < kSets; ++set) {
        float x[2];
        meet_halves(out[k].of[set], x);
        for (unsigned i = 0; i < 2; ++i)
          if (channel < head_dim) body(row_of_column(set, i), channel, x[i]);
      }
    }
  }

  // Begins at a barrier, ends behind one.
  __device__ __forceinline__ void turn_output(bool is_turned) {
    if (is_turned == out_is_turned) return;
    out_is_turned = is_turned;
    auto* rows = reinterpret_cast<float*>(memory.columns);
    for_each_output(
        [&](unsigned row, unsigned channel, float x) { rows[row * padded_dim + channel] = x; });
    __syncthreads();
    turn(rows);
    for (unsigned k = 0; k < kTiles; ++k) {
      const unsigned channel = (warp + k * kAttendWarps) * 16 + lane / 4 * 2;
      for (unsigned set = 0; set < kSets; ++set)
        for (unsigned i = 0; i < 4; ++i)
          out[k].of[set][i] = lane % 4 < 2 && channel < head_dim
                                  ? rows[row_of_column(set, i % 2) * padded_dim + channel + i / 2]
                                  : 0.0f;
    }
    __syncthreads();
  }

  __device__ __forceinline__ void put_partial(float* to) {
    for_each_output([&](unsigned row, unsigned channel, float x) {
      to[std::size_t{row} * head_dim + channel] = x;
    });
    float* most = to + std::size_t{kRows} * head_dim;
    for (unsigned row = threadIdx.x; row < kRows; row += kAttendThreads) {
      most[row] = memory.most[row];
      most[kRows + row] = memory.sum[row];
    }
  }

  // The pieces' results as one, a row a warp.
  __device__ __forceinline__ void merge(const float* partials) {
    const std::size_t stride = partial_floats(kRows, head_dim);
    for (unsigned row = warp; row < item.n_rows; row += kAttendWarps) {
      const float* mosts = partials + std::size_t{kRows} * head_dim + row;
      float most = -INFINITY, sum = 0;
      for (unsigned p = lane; p < item.n_pieces; p += kWarp) most = fmaxf(most, mosts[p * stride]);
      for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, lanes));
      const auto weight = [&](unsigned p) {
        return most == -INFINITY ? 0.0f : exp2f(mosts[p * stride] - most);
      };
      for (unsigned p = lane; p < item.n_pieces; p += kWarp)
        sum += weight(p) * mosts[p * stride + kRows];
      sum = warp_sum(sum);
      const std::size_t at = std::size_t{token_of(row)} * call.n_heads + head_of(row);
      const float inverse = sum > 0 ? 1 / sum : 0.0f;
      for (unsigned c = lane * 4; c < head_dim; c += kWarp * 4) {
        const float* from = partials + std::size_t{row} * head_dim + c;
        float4 all = {0, 0, 0, 0};
#pragma unroll 8
        for (unsigned p = 0; p < item.n_pieces; ++p) {
          const float4 x = *reinterpret_cast<const float4*>(from + p * stride);
          const float w = weight(p);
          all = {fmaf(w, x.x, all.x), fmaf(w, x.y, all.y), fmaf(w, x.z, all.z),
                 fmaf(w, x.w, all.w)};
        }
        *reinterpret_cast<float4*>(call.out + at * head_dim + c) = {
            all.x * inverse, all.y * inverse, all.z * inverse, all.w * inverse};
      }
      if (lane == 0 && call.lse != nullptr)
        call.lse[at] = sum > 0 ? (most + log2f(sum)) * kLn2 : -INFINITY;
    }
  }
};

// The slices of the units that are kept, one after the other.
struct Slices {
  const Unit* units;
  unsigned head_dim, left;  // units, a bit each
  Slice at = {};

  __device__ Slices(const Unit* of, unsigned kept, unsigned dim)
      : units(of), head_dim(dim), left(kept) {
    begin_unit();
  }
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
    const unsigned most = slice_tokens(unit, head_dim), rest = unit.n_tokens - at.first;
    at.n = rest < most ? rest : most;
  }
};

template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void load_keys(Block<kSets, kDim>& block, const Slices& slices) {
  if (!slices.is_at_end()) {
    const Slice& slice = slices.at;
    const Unit& unit = block.memory.units[slice.unit];
    for (unsigned i = threadIdx.x; i < slice.n; i += kAttendThreads) {
      copy_async_4(block.key_part + 4 * i, unit.positions + slice.first + i);
      if (unit.log_counts != nullptr)
        copy_async_4(block.key_part + 4 * (kUnitTokens + i), unit.log_counts + slice.first + i);
    }
    copy_part(unit, slice, true, block.head_dim, block.key_part + kPlacesBytes);
  }
  commit_copies();
}
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void load_values(Block<kSets, kDim>& block, const Slices& slices) {
  if (!slices.is_at_end())
    copy_part(block.memory.units[slices.at.unit], slices.at, false, block.head_dim,
              block.value_part);
  commit_copies();
}

// The units that were found, with K of the next slice on its way while V of this one is used.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void attend_units(Block<kSets, kDim>& block, std::int32_t& shift,
                                             int& is_turned) {
  auto& memory = block.memory;
  Slices here(memory.units, memory.kept, block.head_dim), ahead = here;
  load_keys(block, ahead);
  load_values(block, ahead);
  while (!here.is_at_end()) {
    const Unit& unit = memory.units[here.at.unit];
    const bool wants_turned = operand_of(unit, true).is_turned;
    if (shift != unit.shift || is_turned != static_cast<int>(wants_turned)) {
      shift = unit.shift;
      is_turned = wants_turned ? 1 : 0;
      block.set_queries(shift, wants_turned);
    }
    block.turn_output(operand_of(unit, false).is_turned);
    wait_copies<1>();
    __syncthreads();
    block.score(unit, here.at);
    ahead.next();
    load_keys(block, ahead);
    block.weigh(padded16(here.at.n));
    wait_copies<1>();
    __syncthreads();
    block.add_values(unit, here.at);
    load_values(block, ahead);
    here = ahead;
  }
  wait_copies<0>();
  __syncthreads();
}

// Blocks of a multiprocessor, by registers: so many that none are spilled.
template <unsigned kSets, unsigned kDim>
constexpr unsigned kBlocksAtOnce = (kSets == 1   ? 6
                                    : kSets == 2 ? 5
                                                 : 4) -
                                   kDim / 128;

template <unsigned kSets, unsigned kDim>
__global__ void __launch_bounds__(kAttendThreads, (kBlocksAtOnce<kSets, kDim>))
    attend_pieces(const AttendCall call) {
  const AttendItem item = call.items[blockIdx.x];
  const unsigned piece = call.first_piece + blockIdx.y;
  if (piece >= item.n_pieces) return;
  auto& memory = shared_memory<FewMemory<kSets, kDim>>();
  Block<kSets, kDim> block(call, item, memory);
  block.begin();
  std::int32_t shift = 0;
  int is_turned = -1;  // no queries yet
  const unsigned begin = piece * item.units_of_piece, rest = item.n_units - begin;
  const unsigned n = rest < item.units_of_piece ? rest : item.units_of_piece;
  for (unsigned first = 0; first < n; first += kUnitsAtOnce) {
    block.find_units(begin + first, n - first < kUnitsAtOnce ? n - first : kUnitsAtOnce);
    attend_units(block, shift, is_turned);
  }
  block.turn_output(false);
  const std::size_t stride = partial_floats(memory.kRows, call.head_dim);
  float* partials = call.partials + item.first_partial * stride;
  block.put_partial(partials + piece * stride);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned n_before = atomicAdd(call.counters + blockIdx.x, 1u);
    memory.is_last = n_before + 1 == item.n_pieces ? 1 : 0;
    if (memory.is_last != 0) atomicAdd(call.counters + blockIdx.x, 0u - item.n_pieces);
  }
  __syncthreads();
  if (memory.is_last == 0) return;
  __threadfence();
  block.merge(partials);
}

template <class Call>
auto with_instance(unsigned n_sets, unsigned head_dim, const Call& call) {
  const auto of_sets = [&](auto sets) {
    constexpr unsigned kSets = decltype(sets)::value;
    if (head_dim <= 64) return call(sets, std::integral_constant<unsigned, 64>());
    if (head_dim <= 128) return call(sets, std::integral_constant<unsigned, 128>());
    return call(std::integral_constant<unsigned, kSets>(), std::integral_constant<unsigned, 256>());
  };
  if (n_sets == 1) return of_sets(std::integral_constant<unsigned, 1>());
  if (n_sets == 2) return of_sets(std::integral_constant<unsigned, 2>());
  return of_sets(std::integral_constant<unsigned, 4>());
}

}  // namespace

std::size_t attend_shared_bytes(const AttendCall& call, unsigned n_sets) {
  return with_instance(n_sets, call.head_dim, [&](auto sets, auto dim) {
    return sizeof(FewMemory<decltype(sets)::value, decltype(dim)::value>) + call.key_bytes +
           call.value_bytes;
  });
}

std::size_t attend_part_bytes_most(unsigned head_dim, std::size_t shared_bytes_max) {
  const AttendCall call{.head_dim = head_dim, .key_bytes = kPlacesBytes};
  const std::size_t fixed = attend_shared_bytes(call, 1);
  const std::size_t most = attend_shared_most(shared_bytes_max);
  return most < fixed ? 0 : (most - fixed) / 2 / 16 * 16;
}

cudaError_t attend_few(Queue& queue, const AttendCall& call, unsigned n_sets) {
  const Shape shape{dim3(call.n_items, call.n_pieces), kAttendThreads,
                    attend_shared_bytes(call, n_sets)};
  return with_instance(n_sets, call.head_dim, [&](auto sets, auto dim) {
    return launch(queue, shape, attend_pieces<decltype(sets)::value, decltype(dim)::value>, call);
  });
}

}  // namespace satchel::kernels::cuda
