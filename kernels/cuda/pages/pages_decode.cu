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

constexpr unsigned kThreads = 256;
// Slots that a thread unpacks: their entries are pairs of neighbours, 8 apart, in every row.
constexpr unsigned kSlotsOfThread = 4;

// The bits of four slots' codes, `first` a multiple of four, a byte a code.
__device__ __forceinline__ std::uint32_t four_codes(const std::uint32_t* row, unsigned bits,
                                                    unsigned first) {
  const std::uint32_t word = row[first * bits / 32];
  std::uint32_t out = 0;
#pragma unroll
  for (unsigned s = 0; s < kSlotsOfThread; ++s)
    out |= (word >> bit_of_slot(bits, first + s) & ((1u << bits) - 1)) << 8 * s;
  return out;
}

__device__ __forceinline__ std::uint32_t codes_at(const PageOperand& operand, const std::byte* page,
                                                  unsigned n_entries, unsigned row,
                                                  unsigned first) {
  const unsigned bits = operand.bits - operand.low_bits;
  const auto words = [&](std::uint32_t at, unsigned plane_bits) {
    return plane_of<std::uint32_t>(page, at) +
           row * static_cast<unsigned>(row_bytes(plane_bits, n_entries) / 4);
  };
  const std::uint32_t codes = four_codes(words(operand.values_at, bits), bits, first);
  if (operand.low_bits == 0) return codes;
  return codes << 1 | four_codes(words(operand.low_at, 1), 1, first);
}

// Four values of a row, from slot `first` on.
__device__ __forceinline__ float4 four_values(const PageOperand& operand, const std::byte* page,
                                              unsigned n_entries, unsigned row, unsigned first) {
  const Affine affine(operand);
  const std::uint32_t codes = codes_at(operand, page, n_entries, row, first);
  const unsigned at = (row / operand.group * n_entries + first) / kSlotsOfThread;
  const uint2 scales = plane_of<uint2>(page, operand.scale_at)[at];
  const uint2 zeros =
      operand.is_symmetric ? uint2{0, 0} : plane_of<uint2>(page, operand.zero_at)[at];
  const auto value = [&](unsigned s, std::uint32_t scale, std::uint32_t zero) {
    const Affine::Range range = Affine::range(AffineGroup{
        static_cast<std::uint16_t>(scale & 0xffffu), static_cast<std::uint16_t>(zero & 0xffffu)});
    return affine.decode(range, static_cast<float>(codes >> 8 * s & 255));
  };
  return {value(0, scales.x, zeros.x), value(1, scales.x >> 16, zeros.x >> 16),
          value(2, scales.y, zeros.y), value(3, scales.y >> 16, zeros.y >> 16)};
}

// Rows are tokens: neighbouring threads take neighbouring slots of one.
__device__ __forceinline__ void unpack_keys(const DecodeItem& item, unsigned first_token,
                                            const PageRows& rows) {
  const unsigned d = item.plan.head_dim, of_row = d / kSlotsOfThread;
  for (unsigned i = threadIdx.x; i < rows.n_tokens * of_row; i += kThreads) {
    const unsigned token = i / of_row, first = i % of_row * kSlotsOfThread;
    const auto entry = static_cast<unsigned>(entry_of_slot(d, first));
    const float4 four = four_values(item.plan.k, item.page, d, first_token + token, first);
    float* to = rows.x + token * rows.stride + entry;
    to[0] = four.x, to[1] = four.y, to[8] = four.z, to[9] = four.w;
  }
}

// Rows are channels: of each the slots of the slice's 32 tokens, a thread one of their eight fours.
__device__ __forceinline__ void unpack_values(const DecodeItem& item, unsigned first_token,
                                              const PageRows& rows) {
  constexpr unsigned kFours = kUnpackTokens / kSlotsOfThread;
  const unsigned capacity = item.plan.capacity;
  for (unsigned i = threadIdx.x; i < rows.n_channels * kFours; i += kThreads) {
    const unsigned channel = i / kFours, four_of = i % kFours;
    const unsigned token =
        four_of % 2 * 16 + four_of / 2 * 2;  // and the one beside it, and both + 8
    if (token >= rows.n_tokens) continue;
    const auto first = static_cast<unsigned>(slot_of_entry(capacity, first_token + token));
    const float4 four = four_values(item.plan.v, item.page, capacity, channel, first);
    const float values[kSlotsOfThread] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (unsigned s = 0; s < kSlotsOfThread; ++s) {
      const unsigned at = token + s / 2 * 8 + s % 2;
      if (at < rows.n_tokens) rows.x[at * rows.stride + channel] = values[s];
    }
  }
}

__device__ __forceinline__ void unpack_exact(const DecodeItem& item, const PageOperand& operand,
                                             unsigned first_token, const PageRows& rows) {
  const unsigned d = item.plan.head_dim, fours = d / 4;
  const auto* from =
      plane_of<uint2>(item.page, operand.values_at) + std::size_t{first_token} * fours;
  for (unsigned i = threadIdx.x; i < rows.n_tokens * fours; i += kThreads) {
    const uint2 four = from[i];
    const auto value = [](std::uint32_t half) {
      return half_value(static_cast<std::uint16_t>(half & 0xffffu));
    };
    put_four(rows.x + i / fours * rows.stride + i % fours * 4,
             {value(four.x), value(four.x >> 16), value(four.y), value(four.y >> 16)});
  }
}

__device__ __forceinline__ void unpack(const DecodeItem& item, const PageOperand& operand,
                                       bool is_k, unsigned first_token, const PageRows& rows) {
  if (operand.form == PageForm::mixed_bit)
    return unpack_mixed_bit<kThreads>(item.plan, item.page, first_token, rows);
  if (operand.form == PageForm::exact)
    unpack_exact(item, operand, first_token, rows);
  else if (is_k)
    unpack_keys(item, first_token, rows);
  else
    unpack_values(item, first_token, rows);
  __syncthreads();
}

// Rows to a multiple of four are written, so that multiply() may read them.
__device__ __forceinline__ void transform_back_by_basis(const DecodeItem& item,
                                                        const PageRows& rows) {
  const unsigned n_more = (rows.n_tokens + 3) / 4 * 4 - rows.n_tokens;
  for (unsigned i = threadIdx.x; i < n_more * rows.n_channels; i += kThreads)
    rows.x[(rows.n_tokens + i / rows.n_channels) * rows.stride + i % rows.n_channels] = 0;
  __syncthreads();
  const PageBasis& basis = item.plan.basis;
  multiply<kThreads>(basis.back, rows);
  const int first = plane_of<std::int32_t>(item.page, item.plan.positions_at)[0];
  rotate<kThreads>(basis, frame_of(basis, first), rows.x + kUnpackTokens * rows.stride, rows);
}

// A block 32 tokens of an item's keys (y 0) or values.
__global__ void __launch_bounds__(kThreads) unpack_slices(const DecodeItem* items) {
  wait_for_launch_before();
  constexpr unsigned kSlices = kPageTokens / kUnpackTokens;
  const DecodeItem& item = items[blockIdx.x / kSlices];
  const bool is_k = blockIdx.y == 0;
  float* out = is_k ? item.k : item.v;
  const PageOperand& operand = is_k ? item.plan.k : item.plan.v;
  const unsigned first = blockIdx.x % kSlices * kUnpackTokens, d = item.plan.head_dim;
  if (out == nullptr || operand.form == PageForm::coded || first >= item.n_tokens) return;
  const unsigned left = item.n_tokens - first;
  const PageRows rows{&shared_memory<float>(), unpack_stride(item.plan),
                      left < kUnpackTokens ? left : kUnpackTokens, d};
  unpack(item, operand, is_k, first, rows);
  if (operand.transform == Transform::hadamard)
    transform_hadamard<kThreads>(rows, static_cast<unsigned>(hadamard_block(d)),
                                 item.plan.transform_norm);
  if (operand.transform == Transform::basis) transform_back_by_basis(item, rows);
  out += std::size_t{first} * d;
  for (unsigned i = threadIdx.x; i < rows.n_tokens * d; i += kThreads)
    out[i] = rows.x[i / d * rows.stride + i % d];
}

}  // namespace

cudaError_t decode_pages(Queue& queue, const DecodeItem* items, std::size_t n_items,
                         unsigned head_dim_max) {
  const dim3 grid(static_cast<unsigned>(n_items * (kPageTokens / kUnpackTokens)), 2);
  const std::size_t shared = unpack_floats(head_dim_max) + head_dim_max;
  return launch(queue, {grid, kThreads, shared * sizeof(float)}, unpack_slices, items);
}

}  // namespace satchel::kernels::cuda
