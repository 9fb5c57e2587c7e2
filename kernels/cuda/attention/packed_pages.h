// Decode attention over packed pages, a page a warp: codes come from device memory straight into
// registers, nothing waits for other warps. For .cu files.
//   which    LanePlan::packed_kind: pages of kPageTokens whose K and V are codes in groups of 32 or
//            more, heads of 64, 128 or 256 values; of one kind in a split, and not shifted by an
//            edit. The rest of a split is the block's (decode.cu).
//   masks    are looked at only where the page has tokens that some row does not see
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "kernels/cuda/attention/decode_values.h"
#include "kernels/cuda/attention/packed_codes.h"
#include "kernels/cuda/attention/packed_columns.h"
#include "kernels/cuda/primitives/exp2.h"

namespace satchel::kernels::cuda {

// Floats of a row in the order of codes: shares of so many entries, two apart so that a warp's
// accesses lie in different banks.
template <unsigned kEntries>
struct StagedRow {
  static constexpr unsigned kBlock = kEntries < kRowBlock ? kEntries : kRowBlock;
  static constexpr unsigned kShare = kBlock / 4, kStride = kShare + 2;
  static constexpr unsigned kFloats = kEntries / kBlock * 4 * kStride;

  __device__ static constexpr unsigned at(unsigned block, unsigned share, unsigned entry) {
    return (block * 4 + share) * kStride + entry;
  }
};

// Of the queries' block; in the place of what its other units hold there.
template <unsigned kSets, unsigned kDim>
struct PackedMemory {
  static constexpr unsigned kRows = kSets * kRowsOfSet;
  // Of a column; four more, so that eight columns lie in different banks.
  static constexpr unsigned kColumnWords = (kDim > kRowBlock ? kDim : kRowBlock) / 4 + 4;
  using Queries = StagedRow<kDim>;
  using Tokens = StagedRow<kPageTokens>;

  struct Warp {
    alignas(16) std::uint32_t columns[kSets * 2 * kRowsOfSet * kColumnWords];
    alignas(16) float logits[kRows * Tokens::kFloats];
    // Of each thread: row l % 4 of a set, channels l / 4 of a tile of 16 and 8 further on.
    // Registers would have to be named one by one, in code eight times as long.
    float2 out[kSets][kDim / 16][kWarp];
  };

  Warp warps[kAttendWarps];
  float most[kAttendWarps][kRows], sum[kAttendWarps][kRows];
};

// What a warp has of its pages. Thread l of it has row l / 8 of each set's softmax, and pieces of
// the same row of queries and weights.
template <unsigned kSets, unsigned kDim>
class PackedPages {
 public:
  using Block = DecodeBlock<kSets, kDim>;
  using Memory = PackedMemory<kSets, kDim>;
  static constexpr unsigned kRows = Memory::kRows, kTiles = kDim / 16;

  __device__ __forceinline__ PackedPages(const Block& block, Memory& memory)
      : block_(block), all_(memory), memory_(memory.warps[block.warp]), thread_(block.thread) {
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      most_[set] = -INFINITY, sum_[set] = 0;
      for (unsigned tile = 0; tile < kTiles; ++tile) memory_.out[set][tile][thread_] = {0, 0};
    }
  }

  __device__ __forceinline__ void add(const Unit& unit) {
    switch (unit.k_operand.form == Form::mixed ? 0u : unit.k_operand.bits) {
      case 0:
        score_mixed(unit);
        break;
      case 2:
        score<2>(unit);
        break;
      case 3:
        if constexpr (kDim >= kRowBlock) score<3>(unit);
        break;
      case 4:
        score<4>(unit);
        break;
      default:
        score<8>(unit);
    }
    __syncwarp();
    if (!unit.is_all_seen || block_.call.soft_cap > 0) mask(unit);
    switch (unit.v_operand.bits) {
      case 2:
        return add_values<2>(unit);
      case 3:
        return add_values<3>(unit);
      case 4:
        return add_values<4>(unit);
      default:
        return add_values<8>(unit);
    }
  }

  // Where the queries' rows lie in the order of codes: in the block's columns, until join().
  __device__ __forceinline__ float* queries() const {
    constexpr std::size_t kBytes = kRows * Memory::Queries::kFloats * sizeof(float);
    static_assert(kBytes <= sizeof(block_.memory.columns));
    return reinterpret_cast<float*>(block_.memory.columns);
  }

  // The warps' results together: rows [kRows, padded head_dim], and each row's most and sum in the
  // block's memory. Ends behind a barrier.
  __device__ __forceinline__ void join(float* rows) {
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      const float sum = row_sum(sum_[set]);
      const unsigned row = set * kRowsOfSet + thread_ / 8;
      if (thread_ % 8 == 0) all_.most[block_.warp][row] = most_[set];
      if (thread_ % 8 == 0) all_.sum[block_.warp][row] = sum;
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < kRows * kDim; i += kAttendThreads) {
      const unsigned row = i / kDim, channel = i % kDim;
      const unsigned thread = channel % 8 * 4 + row % kRowsOfSet;
      float most = -INFINITY, sum = 0, x = 0;
#pragma unroll
      for (const auto& of_warp : all_.most) most = fmaxf(most, of_warp[row]);
#pragma unroll
      for (unsigned w = 0; w < kAttendWarps; ++w) {
        const float share = most == -INFINITY ? 0.0f : exp2_of(all_.most[w][row] - most);
        const float2 two = all_.warps[w].out[row / kRowsOfSet][channel / 16][thread];
        sum = fmaf(share, all_.sum[w][row], sum);
        x = fmaf(share, channel % 16 < 8 ? two.x : two.y, x);
      }
      rows[i] = x;
      if (channel == 0) block_.memory.most[row] = most;
      if (channel == 0) block_.memory.sum[row] = sum;
    }
    __syncthreads();
  }

 private:
  // How many pieces of a row a thread has, and whether it has any.
  static constexpr unsigned kPieces = kDim > kRowBlock ? kDim / kRowBlock : 1;
  __device__ __forceinline__ bool has_piece() const {
    return kDim >= kRowBlock || thread_ % 8 < kDim / kPiece;
  }
  // Where a thread's piece lies in blocks of at least kRowBlock entries, or of 64.
  __device__ __forceinline__ unsigned share_of_piece() const {
    return kDim >= kRowBlock ? thread_ % 8 / 2 : thread_ % 4;
  }
  __device__ __forceinline__ unsigned half_of_piece() const {
    return kDim >= kRowBlock ? thread_ % 2 : 0;
  }

  // Column `part` of this thread's row of a set: 0 has the upper bytes.
  __device__ __forceinline__ std::uint32_t* column(unsigned set, unsigned part) const {
    return memory_.columns + ((set * kRowsOfSet + thread_ / 8) * 2 + part) * Memory::kColumnWords;
  }
  // The fragments of this thread of a set, in columns of kEntries entries.
  template <unsigned kEntries>
  __device__ __forceinline__ const std::uint32_t* fragments(unsigned set, unsigned block) const {
    constexpr unsigned kOfThread = (kEntries < kRowBlock ? kEntries : kRowBlock) / 16;
    return memory_.columns + (set * 2 * kRowsOfSet + thread_ / 4) * Memory::kColumnWords +
           block * 4 * kOfThread + thread_ % 4 * kOfThread;
  }
  template <unsigned kEntries, unsigned kStepsOfAll>
  __device__ __forceinline__ void load_columns(uint2 (&b)[kSets][kStepsOfAll]) const {
    constexpr unsigned kBlocks = kEntries > kRowBlock ? kEntries / kRowBlock : 1;
    constexpr unsigned kSteps = kStepsOfAll / kBlocks;
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set)
#pragma unroll
      for (unsigned block = 0; block < kBlocks; ++block)
#pragma unroll
        for (unsigned s = 0; s < kSteps; s += 2) {
          const uint4 two =
              *reinterpret_cast<const uint4*>(fragments<kEntries>(set, block) + 2 * s);
          b[set][block * kSteps + s] = {two.x, two.y};
          b[set][block * kSteps + s + 1] = {two.z, two.w};
        }
  }

  template <class Staged, unsigned kBits>
  __device__ __forceinline__ void load_piece(const float* row, unsigned block, unsigned share,
                                             unsigned half, Piece& piece) const {
#pragma unroll
    for (unsigned e = 0; e < kPiece; e += 2) {
      const float2 two = *reinterpret_cast<const float2*>(
          row + Staged::at(block, share, entry_of_piece<kBits>(half, e)));
      piece.x[e] = two.x, piece.x[e + 1] = two.y;
    }
  }
  // Of a plane of scales or zeros of one group of rows.
  template <unsigned kBits>
  __device__ __forceinline__ static void load_halves(const std::byte* plane, unsigned block,
                                                     unsigned share, unsigned half,
                                                     unsigned of_share, PieceHalves& halves) {
    const std::byte* at = plane + 2 * ((block * 4 + share) * of_share);
    halves.load(at + 2 * entry_of_piece<kBits>(half, 0), at + 2 * entry_of_piece<kBits>(half, 8));
  }

  // Columns of this thread's row of a set from pieces scaled already; zeros: Σ of the thread.
  template <PieceOrder kOrder, unsigned kCount>
  __device__ __forceinline__ RowFactors put_columns(unsigned set, const Piece (&pieces)[kCount],
                                                    bool is_there, float zeros,
                                                    const int (&middles)[kCount][4],
                                                    unsigned word) const {
    float most = 0;
#pragma unroll
    for (const Piece& piece : pieces) most = fmaxf(most, piece.most());
    const IntegerScale scale(row_max(most));
    int below = 0;
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) {
      const PieceIntegers integers(pieces[i], scale.inverse);
      for (unsigned quad = 0; quad < 4; ++quad)
        below += middles[i][quad] * integers.sum(4 * quad, 4);
      if (is_there)
        integers.template put<kOrder>(column(set, 0) + word + i * (kRowBlock / 4),
                                      column(set, 1) + word + i * (kRowBlock / 4));
    }
    return {scale.step, row_sum(zeros), -row_sum(below)};
  }

  __device__ __forceinline__ void put_logit(unsigned set, unsigned at, const RowFactors& factors,
                                            int upper, int lower) const {
    memory_.logits[(set * kRowsOfSet + thread_ % 4) * Memory::Tokens::kFloats + at] =
        factors.value(upper, lower);
  }

  // Logits of the page, by token in the order of V's codes.
  template <unsigned kBits>
  __device__ __forceinline__ void score(const Unit& unit) const {
    const DecodeOperand keys = unit.k_operand;
    using Tile = TileCodes<kBits, kDim>;
    constexpr unsigned kTokenTiles = kPageTokens / 16;
    const std::byte* codes = unit.k + keys.values_at;
    const std::byte* scales = unit.k + keys.scale_at;
    TilesAhead<kBits, kDim, kTokenTiles> tiles({codes, codes + keys.places.low});
#pragma unroll 1
    for (unsigned first = 0; first < kTokenTiles; first += keys.of_group, scales += kDim * 2) {
      RowFactors factors[kSets];
      uint2 b[kSets][Tile::kBlocks * Tile::kSteps];
      __syncwarp();
      key_columns<kBits>(keys, scales, scales + (keys.places.zero - keys.places.scale), factors);
      __syncwarp();
      load_columns<kDim>(b);
      tiles.take(keys.of_group, [&](const Tile& tile, unsigned i) {
        int sums[kSets][4];
        multiply(tile, b, factors, sums);
        // Tokens thread / 4 of the tile and 8 further on.
        const unsigned at = Memory::Tokens::at(0, thread_ / 8, thread_ / 4 % 2) + 4 * i;
#pragma unroll
        for (unsigned set = 0; set < kSets; ++set) {
          put_logit(set, at, factors[set], sums[set][0], sums[set][1]);
          put_logit(set, at + 2, factors[set], sums[set][2], sums[set][3]);
        }
      });
    }
  }
  template <class Tile, unsigned kSteps>
  __device__ __forceinline__ static void multiply(const Tile& tile, const uint2 (&b)[kSets][kSteps],
                                                  const RowFactors (&factors)[kSets],
                                                  int (&sums)[kSets][4]) {
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) factors[set].begin(sums[set]);
    tile.multiply(b, sums);
  }

  // The queries' columns for a group of tokens; factors: of each thread's row of the sums.
  template <unsigned kBits>
  __device__ __forceinline__ void key_columns(const DecodeOperand& keys, const std::byte* scales,
                                              const std::byte* zeros,
                                              RowFactors (&factors)[kSets]) const {
    constexpr unsigned kShare = Memory::Queries::kShare, kMiddle = 1u << (kBits - 1);
    const unsigned share = share_of_piece(), half = half_of_piece();
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      Piece pieces[kPieces] = {};
      int middles[kPieces][4];
      float of_zeros = 0;
#pragma unroll
      for (unsigned i = 0; i < kPieces; ++i) {
        for (int& middle : middles[i]) middle = static_cast<int>(kMiddle);
        if (!has_piece()) continue;
        const float* row = queries() + (set * kRowsOfSet + thread_ / 8) * Memory::Queries::kFloats;
        load_piece<typename Memory::Queries, kBits>(row, i, share, half, pieces[i]);
        PieceHalves s, z = {};
        load_halves<kBits>(scales, i, share, half, kShare, s);
        if (!keys.is_symmetric) load_halves<kBits>(zeros, i, share, half, kShare, z);
        of_zeros += pieces[i].scale(s, z, !keys.is_symmetric, middles[i]);
      }
      const unsigned word = share * (kShare / 4) + half * 4;
      const RowFactors of_row =
          put_columns<piece_order(kBits)>(set, pieces, has_piece(), of_zeros, middles, word);
      factors[set] = of_row.of_thread(thread_ % 4 * 8);
    }
  }

  // LanePlan::sorted_quads over the threads of a warp.
  struct Quads {
    static constexpr unsigned kOfThread = kDim / kQuad > kWarp ? kDim / kQuad / kWarp : 1;
    std::uint32_t of[kOfThread];

    __device__ __forceinline__ explicit Quads(const Unit& unit) {
      const unsigned thread = threadIdx.x % kWarp;
#pragma unroll
      for (unsigned i = 0; i < kOfThread; ++i) of[i] = unit.sorted_quads[thread + i * kWarp];
    }
    // By all threads of the warp at once, whose places are of one kWarp.
    __device__ __forceinline__ std::uint32_t at(unsigned place) const {
      std::uint32_t mine = of[0];
#pragma unroll
      for (unsigned i = 1; i < kOfThread; ++i)
        if (place / kWarp == i) mine = of[i];
      return __shfl_sync(~0u, mine, static_cast<int>(place % kWarp));
    }
  };

  // score() of mixed-bit keys. A step is eight quads, in the order of LanePlan::sorted_quads.
  __device__ __forceinline__ void score_mixed(const Unit& unit) const {
    const Quads quads(unit);
    RowFactors factors[kSets];
    __syncwarp();
    mixed_columns(unit, quads, factors);
    __syncwarp();
    int sums[kSets][8][4];
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set)
      for (unsigned tile = 0; tile < 8; ++tile) factors[set].begin(sums[set][tile]);
    const std::byte* codes = unit.k + unit.k_operand.values_at;
#pragma unroll 1
    for (unsigned step = 0; step < kDim / 32; ++step) {
      QuadWords words[2];
      const std::uint32_t first_quad = quads.at(8 * step + thread_ % 4);
      const std::uint32_t second_quad = quads.at(8 * step + 4 + thread_ % 4);
      words[0].load(codes, first_quad);
      words[1].load(codes, second_quad);
      uint2 b[kSets];
#pragma unroll
      for (unsigned set = 0; set < kSets; ++set)
        b[set] = *reinterpret_cast<const uint2*>(fragments<kDim>(set, step / 4) + 2 * (step % 4));
#pragma unroll
      for (unsigned first = 0; first < 4; first += 2) {
        std::uint32_t of[2][2][4];
        words[0].codes(first, of[0]);
        words[1].codes(first, of[1]);
        __syncwarp();
#pragma unroll
        for (unsigned tile = 0; tile < 4; ++tile) {
          const unsigned i = tile / 2, k = tile % 2;
          const std::uint32_t a[4] = {of[0][i][k], of[0][i][k + 2], of[1][i][k], of[1][i][k + 2]};
#pragma unroll
          for (unsigned set = 0; set < kSets; ++set)
            multiply_add(sums[set][2 * first + tile], a, b[set]);
        }
      }
    }
    // Token 4g + i + 32k is entry 2 · (g / 2 + 4k) + i % 2 of share 2 · (g % 2) + i / 2.
    const unsigned g = thread_ / 4;
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set)
#pragma unroll
      for (unsigned tile = 0; tile < 8; ++tile) {
        const unsigned i = tile / 2, k = tile % 2;
        const unsigned at = Memory::Tokens::at(0, g % 2 * 2 + i / 2, g / 2 * 2 + 8 * k + i % 2);
        put_logit(set, at, factors[set], sums[set][tile][0], sums[set][tile][1]);
        put_logit(set, at + 16, factors[set], sums[set][tile][2], sums[set][tile][3]);
      }
  }

  __device__ __forceinline__ void mixed_columns(const Unit& unit, const Quads& quads,
                                                RowFactors (&factors)[kSets]) const {
    const std::byte* scales = unit.k + unit.k_operand.scale_at;
    const bool is_in_basis = unit.query >= kQueryInBasis;
    const float* rows = is_in_basis ? block_.call.basis_queries +
                                          std::size_t{unit.query - kQueryInBasis} * kRows * kDim
                                    : block_.memory.q;
    const unsigned share = share_of_piece(), half = half_of_piece();
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      Piece pieces[kPieces] = {};
      int middles[kPieces][4] = {};
      float of_zeros = 0;
      const float* row = rows + (set * kRowsOfSet + thread_ / 8) * kDim;
#pragma unroll
      for (unsigned i = 0; i < kPieces; ++i) {
        PieceHalves s, z;
#pragma unroll
        for (unsigned w = 0; w < 4; ++w) {
          const unsigned step = 4 * i + 2 * half + w / 2;
          const std::uint32_t quad = quads.at(8 * step + w % 2 * 4 + share);
          const unsigned channel = (quad >> 4 & 255) * kQuad, bits = quad & 15;
          const float4 q = *reinterpret_cast<const float4*>(row + channel);
          pieces[i].x[4 * w] = q.x, pieces[i].x[4 * w + 1] = q.z;
          pieces[i].x[4 * w + 2] = q.y, pieces[i].x[4 * w + 3] = q.w;
          s.load_quad(w, scales + 2 * channel);
          z.load_quad(w, scales + 2 * (kDim + channel));
          middles[i][w] = static_cast<int>((1u << bits) / 2);
        }
        if (!has_piece()) pieces[i] = {};
        of_zeros += pieces[i].scale(s, z, true, middles[i]);
      }
      const unsigned word = share * (Memory::Queries::kShare / 4) + half * 4;
      const RowFactors of_row =
          put_columns<PieceOrder::neighbours>(set, pieces, has_piece(), of_zeros, middles, word);
      factors[set] = of_row.of_thread(thread_ % 4 * 8);
    }
  }

  // Logits of this thread's piece as weights: in the softmax's state, and what V is times.
  //   rescale  of each thread's row of the output
  template <unsigned kBits>
  __device__ __forceinline__ Piece weigh(unsigned set, float& rescale) {
    const unsigned row = set * kRowsOfSet + thread_ / 8;
    Piece piece;
    load_piece<typename Memory::Tokens, kBits>(memory_.logits + row * Memory::Tokens::kFloats, 0,
                                               thread_ % 8 / 2, thread_ % 2, piece);
    float most = most_[set];
#pragma unroll
    for (float x : piece.x) most = fmaxf(most, x);
    most = row_max(most);
    const float subtracted = most == -INFINITY ? 0.0f : most;  // nothing seen: weights of 0
    const float factor = exp2_of(most_[set] - subtracted);
    float sum = 0;
#pragma unroll
    for (float& x : piece.x) sum += x = exp2_of(x - subtracted);
    most_[set] = most;
    sum_[set] = fmaf(sum_[set], factor, sum);
    rescale = __shfl_sync(~0u, factor, static_cast<int>(thread_ % 4 * 8));
    return piece;
  }
  // The soft cap, counts and what is not seen, over the logits as they lie.
  __device__ __forceinline__ void mask(const Unit& unit) const {
    const float soft_cap = block_.call.soft_cap;
    const auto& memory = block_.memory;
#pragma unroll 1
    for (unsigned i = thread_; i < kRows * kPageTokens; i += kWarp) {
      const unsigned row = i / kPageTokens, token = i % kPageTokens;
      float& logit =
          memory_.logits[row * Memory::Tokens::kFloats +
                         Memory::Tokens::at(0, token % 8 / 2, token / 8 * 2 + token % 2)];
      if (soft_cap > 0) logit = soft_cap * kLog2E * tanhf(logit);
      if (unit.is_all_seen) continue;
      const bool is_there =
          token < unit.n_tokens && ((unit.live[token / 64] >> (token % 64)) & 1) != 0;
      const std::int32_t position = is_there ? unit.positions[token] : 0;
      const bool is_seen =
          is_there && position <= memory.positions[row] && position >= memory.least[row];
      if (is_seen && unit.log_counts != nullptr) logit += unit.log_counts[token] * kLog2E;
      if (!is_seen) logit = -INFINITY;
    }
    __syncwarp();
  }

  // out = out · rescale + weights · V.
  template <unsigned kBits>
  __device__ __forceinline__ void add_values(const Unit& unit) {
    using Tile = TileCodes<kBits, kPageTokens>;
    const DecodeOperand values = unit.v_operand;
    const std::byte* codes = unit.v + values.values_at;
    const std::byte* scales = unit.v + values.scale_at;
    TilesAhead<kBits, kPageTokens, kTiles> tiles({codes, codes + values.places.low});
    float rescale[kSets];
    Piece weights[kSets];
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) weights[set] = weigh<kBits>(set, rescale[set]);
#pragma unroll 1
    for (unsigned first = 0; first < kTiles; first += values.of_group, scales += kPageTokens * 2) {
      RowFactors factors[kSets];
      uint2 b[kSets][Tile::kSteps];
      __syncwarp();
      value_columns<kBits>(values, scales, scales + (values.places.zero - values.places.scale),
                           weights, factors);
      __syncwarp();
      load_columns<kPageTokens>(b);
      tiles.take(values.of_group, [&](const Tile& tile, unsigned i) {
        int sums[kSets][4];
        multiply(tile, b, factors, sums);
#pragma unroll
        for (unsigned set = 0; set < kSets; ++set) {
          float2& out = memory_.out[set][i][thread_];
          out = {fmaf(out.x, rescale[set], factors[set].value(sums[set][0], sums[set][1])),
                 fmaf(out.y, rescale[set], factors[set].value(sums[set][2], sums[set][3]))};
        }
      });
    }
  }
  template <unsigned kBits>
  __device__ __forceinline__ void value_columns(const DecodeOperand& values,
                                                const std::byte* scales, const std::byte* zeros,
                                                const Piece (&weights)[kSets],
                                                RowFactors (&factors)[kSets]) const {
    constexpr int kMiddle = 1 << (kBits - 1),
                  kMiddles[1][4] = {{kMiddle, kMiddle, kMiddle, kMiddle}};
    constexpr unsigned kShare = Memory::Tokens::kShare;
    const unsigned share = thread_ % 8 / 2, half = thread_ % 2;
    PieceHalves s, z = {};
    load_halves<kBits>(scales, 0, share, half, kShare, s);
    if (!values.is_symmetric) load_halves<kBits>(zeros, 0, share, half, kShare, z);
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
      Piece pieces[1] = {weights[set]};
      const float of_zeros = pieces[0].scale(s, z, !values.is_symmetric, kMiddles[0]);
      const RowFactors of_row = put_columns<piece_order(kBits)>(set, pieces, true, of_zeros,
                                                                kMiddles, share * 8 + half * 4);
      factors[set] = of_row.of_thread(thread_ % 4 * 8);
    }
  }

  const Block& block_;
  Memory& all_;
  typename Memory::Warp& memory_;
  const unsigned thread_;
  float most_[kSets], sum_[kSets];
};

}  // namespace satchel::kernels::cuda
