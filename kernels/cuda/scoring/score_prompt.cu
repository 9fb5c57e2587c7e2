#include "kernels/cuda/scoring/score_prompt.h"

#include "kernels/cuda/attention/query_rows.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/async_copy.h"
#include "kernels/cuda/primitives/block_copy.h"
#include "kernels/cuda/primitives/exp2.h"
#include "kernels/cuda/primitives/load_matrix.h"
#include "kernels/cuda/primitives/mma.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 4, kThreads = kWarps * kWarp;
constexpr unsigned kTiles = 4;  // of 16 keys, of a warp
static_assert(kWarps * kTiles * 16 == kKeysOfPromptBlock);

// A warp a query: a thread four channels of it.
__global__ void __launch_bounds__(kThreads) halve_queries(const PromptScoreItem* items) {
  wait_for_launch_before();
  const PromptScoreItem& item = items[blockIdx.z];
  const ScoreItem& score = item.score;
  const LaneRows& rows = score.rows;
  const unsigned token = blockIdx.x * kWarps + threadIdx.x / kWarp, in_group = blockIdx.y;
  if (token >= item.n_queries || in_group >= rows.n_group) return;
  const unsigned thread = threadIdx.x % kWarp, channel = thread * 4;
  const unsigned head = rows.first_head + in_group;
  float4 four = {0, 0, 0, 0};
  if (token < rows.n_tokens && channel < rows.head_dim)
    four = *reinterpret_cast<const float4*>(
        rows.q + (std::size_t{token} * rows.n_heads + head) * rows.head_dim + channel);
  const float most =
      fmaxf(fmaxf(fabsf(four.x), fabsf(four.y)), fmaxf(fabsf(four.z), fabsf(four.w)));
  const RowFactor factor = factor_of(warp_max(most));
  const std::size_t at = std::size_t{in_group} * item.n_queries + token;
  std::uint32_t* const words = item.queries + at * item.n_words + thread / 4 * 8 + thread % 4;
  if (channel < item.n_words * 2) {
    words[0] = nearest_pair(four.x * factor.factor, four.y * factor.factor);
    words[4] = nearest_pair(four.z * factor.factor, four.w * factor.factor);
  }
  if (thread != 0) return;
  QueryColumn column = {};
  if (token < rows.n_tokens)
    column = {.factor = rows.scale * factor.inverse * kLog2OfE,
              .lse = score.lse[std::size_t{token} * rows.n_heads + head] * kLog2OfE,
              .weight = score.weights == nullptr ? 1 : score.weights[token],
              .mean = 0};
  item.columns[at] = column;
}

template <unsigned kSteps>
struct Stage {
  static constexpr unsigned kPieces = kSteps * 2;
  uint4 queries[kQueriesOfStage][kPieces];  // piece p of query q at p ^ q % 8
  QueryColumn columns[kQueriesOfStage];
};
template <unsigned kSteps>
struct Memory {
  Stage<kSteps> stages[2];
  PromptScoreItem item;
};

template <unsigned kSteps>
__device__ __forceinline__ void copy_stage(Stage<kSteps>& to, const PromptScoreItem& item,
                                           unsigned in_group, unsigned first) {
  constexpr unsigned kPieces = Stage<kSteps>::kPieces;
  const std::size_t at = std::size_t{in_group} * item.n_queries + first;
#pragma unroll
  for (unsigned i = 0; i < kQueriesOfStage * kPieces / kThreads; ++i) {
    const unsigned of_stage = i * kThreads + threadIdx.x;
    const unsigned query = of_stage / kPieces, piece = of_stage % kPieces;
    copy_16_bytes_async(&to.queries[query][piece ^ query % 8],
                        item.queries + (at + query) * kPieces * 4 + piece * 4);
  }
  for (unsigned i = threadIdx.x; i < kQueriesOfStage; i += kThreads)
    copy_16_bytes_async(&to.columns[i], item.columns + at + i);
  commit_copies();
}

// Operand A: keys tile · 16 + thread / 4 and 8 below, of the warp's; 0 past the last.
template <unsigned kSteps>
struct Keys {
  std::uint32_t words[kTiles][kSteps][4];

  __device__ __forceinline__ void load(const TokenSource& source, unsigned first,
                                       unsigned head_dim) {
    const unsigned thread = threadIdx.x % kWarp;
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned token = first + t * 16 + thread / 4 + 8 * i;
        const std::byte* row = source.k + std::size_t{token} * head_dim * 2 + thread % 4 * 8;
#pragma unroll
        for (unsigned step = 0; step < kSteps; ++step) {
          const bool is_there = token < source.n_tokens && step * 16 + thread % 4 * 4 < head_dim;
          const uint2 two =
              is_there ? *reinterpret_cast<const uint2*>(row + step * 32) : uint2{0, 0};
          words[t][step][i] = two.x, words[t][step][i + 2] = two.y;
        }
      }
  }
};

// Products become logits, in a loop of its own: most models have no cap, and without one this is a
// single branch.
template <unsigned kSteps>
__device__ __forceinline__ void cap_products(float soft_cap, const Stage<kSteps>& stage,
                                             unsigned first, float (&products)[kTiles][2][4]) {
  constexpr float kLn2 = 0.69314718055994530942f;
  if (!(soft_cap > 0)) return;
#pragma unroll
  for (unsigned n = 0; n < 2; ++n)
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      const float factor =
          stage.columns[first + n * 8 + threadIdx.x % 4 * 2 + c].factor * kLn2 / soft_cap;
#pragma unroll
      for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
          float& product = products[t][n][2 * i + c];
          product = soft_cap * tanhf(product * factor);
        }
    }
}

// Sixteen queries from `first` of the stage on. seen(c, t, i): whether the query of the thread's
// column c sees its key i of tile t.
template <bool kIsSum, unsigned kSteps, class Seen>
__device__ __forceinline__ void add_queries(const PromptScoreItem& item, const Keys<kSteps>& keys,
                                            const Stage<kSteps>& stage, unsigned first,
                                            const Seen& seen, float (&found)[kTiles][2]) {
  const unsigned thread = threadIdx.x % kWarp, query = first + thread / 16 * 8 + thread % 8;
  float products[kTiles][2][4] = {};
#pragma unroll
  for (unsigned step = 0; step < kSteps; ++step) {
    std::uint32_t b[4];
    const unsigned piece = (2 * step + thread / 8 % 2) ^ query % 8;
    load_matrices<false>(reinterpret_cast<const std::byte*>(&stage.queries[query][piece]), b);
#pragma unroll
    for (unsigned t = 0; t < kTiles; ++t)
      for (unsigned n = 0; n < 2; ++n)
        multiply_add(products[t][n], keys.words[t][step], {b[2 * n], b[2 * n + 1]});
  }
  const float soft_cap = item.score.rows.soft_cap;
  cap_products(soft_cap, stage, first, products);
#pragma unroll
  for (unsigned n = 0; n < 2; ++n)
#pragma unroll
    for (unsigned c = 0; c < 2; ++c) {
      const unsigned of_stage = first + n * 8 + thread % 4 * 2 + c;
      const QueryColumn column = stage.columns[of_stage];
      const float factor = soft_cap > 0 ? kLog2OfE : column.factor;
#pragma unroll
      for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
          if (!seen(of_stage, t, i)) continue;
          const float share = exp2_of(fmaf(products[t][n][2 * i + c], factor, -column.lse));
          found[t][i] = kIsSum ? fmaf(share, column.weight, found[t][i])
                               : fmaxf(found[t][i], share * column.weight);
        }
    }
}

// All queries of the split that see some of the keys, for this thread's keys of the warp's.
template <bool kIsSum, unsigned kSteps>
__device__ __forceinline__ void scan_queries(const PromptScoreItem& item, const TokenSource& source,
                                             unsigned first, PositionRange range,
                                             Memory<kSteps>& memory, float (&found)[kTiles][2]) {
  const LaneRows& rows = item.score.rows;
  const auto sees_all = [](unsigned, unsigned, unsigned) { return true; };
  const unsigned thread = threadIdx.x % kWarp;
  const unsigned begin = first_at(rows, range.first + rows.least_back);
  const unsigned end = first_at(rows, range.last + rows.most_back + 1);
  const unsigned first_stage = begin / kQueriesOfStage;
  const unsigned n_stages =
      end <= begin ? 0 : (end + kQueriesOfStage - 1) / kQueriesOfStage - first_stage;
  const unsigned of_split = (n_stages + item.n_splits - 1) / item.n_splits;
  unsigned stage = first_stage + blockIdx.z * of_split;
  const unsigned all = first_stage + n_stages;
  const unsigned end_stage = stage + of_split < all ? stage + of_split : all;
  for (auto& of_tile : found)
    for (float& x : of_tile) x = kIsSum ? 0.0f : kNothing;
  if (stage >= end_stage) return;
  copy_stage(memory.stages[0], item, blockIdx.y, stage * kQueriesOfStage);
  Keys<kSteps> keys;
  keys.load(source, first, rows.head_dim);
  for (unsigned i = 0; stage < end_stage; ++stage, ++i) {
    const bool has_next = stage + 1 < end_stage;
    if (has_next)
      copy_stage(memory.stages[(i + 1) % 2], item, blockIdx.y, (stage + 1) * kQueriesOfStage);
    else
      commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    const Stage<kSteps>& there = memory.stages[i % 2];
    const unsigned first_token = stage * kQueriesOfStage;
    const unsigned last = first_token + kQueriesOfStage - 1;
    const bool every =
        last < rows.n_tokens &&
        all_see_all(rows, {rows.positions[first_token], rows.positions[last]}, range);
    if (every) {
#pragma unroll 1
      for (unsigned q = 0; q < kQueriesOfStage; q += 16)
        add_queries<kIsSum>(item, keys, there, q, sees_all, found);
    } else {
      std::int32_t positions[kTiles][2];
      for (unsigned t = 0; t < kTiles; ++t)
        for (unsigned k = 0; k < 2; ++k) {
          const unsigned token = first + t * 16 + thread / 4 + 8 * k;
          positions[t][k] = token < source.n_tokens ? source.positions[token] + source.shift : 0;
        }
      const auto seen = [&](unsigned query, unsigned t, unsigned k) {
        const unsigned token = first_token + query;
        return token < rows.n_tokens && can_attend(rows, rows.positions[token], positions[t][k]);
      };
#pragma unroll 1
      for (unsigned q = 0; q < kQueriesOfStage; q += 16)
        add_queries<kIsSum>(item, keys, there, q, seen, found);
    }
    __syncthreads();  // nobody reads the stage that is overwritten next
  }
}

// x: tiles of keys, y: heads of the group, z: splits of the queries.
template <unsigned kSteps>
__global__ void __launch_bounds__(kThreads, 2) score_prompt_keys(const PromptScoreCall call) {
  wait_for_launch_before();
  auto& memory = shared_memory<Memory<kSteps>>();
  const KeyTile tile = call.tiles[blockIdx.x];
  copy_for_block(memory.item, call.items[tile.item]);
  const PromptScoreItem& item = memory.item;
  const LaneRows& rows = item.score.rows;
  if (blockIdx.y >= rows.n_group || blockIdx.z >= item.n_splits) return;
  const TokenSource& source = call.sources[tile.source];
  const PositionRange range = positions_of(source, tile.first, kKeysOfPromptBlock);
  const unsigned thread = threadIdx.x % kWarp;
  const unsigned first = tile.first + threadIdx.x / kWarp * kTiles * 16;
  float found[kTiles][2];
  if (item.score.is_sum)
    scan_queries<true>(item, source, first, range, memory, found);
  else
    scan_queries<false>(item, source, first, range, memory, found);
  float* const to =
      item.parts + (std::size_t{blockIdx.y} * item.n_splits + blockIdx.z) * item.n_slots;
#pragma unroll
  for (unsigned t = 0; t < kTiles; ++t)
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      const bool is_sum = item.score.is_sum;
      float of_key = is_sum ? quad_sum(found[t][i]) : quad_max(found[t][i]);
      const unsigned token = first + t * 16 + thread / 4 + 8 * i;
      if (!is_live(source, token)) of_key = is_sum ? 0 : kNothing;
      if (thread % 4 == 0 && token < source.n_tokens) to[tile.slot + token - tile.first] = of_key;
    }
}

// A thread a key.
__global__ void __launch_bounds__(kThreads) add_parts(const PromptScoreItem* items) {
  wait_for_launch_before();
  const PromptScoreItem& item = items[blockIdx.y];
  const ScoreItem& score = item.score;
  const unsigned slot = blockIdx.x * kThreads + threadIdx.x;
  if (slot >= item.n_slots) return;
  float total = score.mean_of_heads ? 0.0f : kNothing;
  for (unsigned head = 0; head < score.rows.n_group; ++head) {
    float of_head = score.is_sum ? 0.0f : kNothing;
    for (unsigned split = 0; split < item.n_splits; ++split) {
      const float x = item.parts[(std::size_t{head} * item.n_splits + split) * item.n_slots + slot];
      of_head = score.is_sum ? of_head + x : fmaxf(of_head, x);
    }
    total = score.mean_of_heads ? total + of_head / static_cast<float>(score.rows.n_group)
                                : fmaxf(total, of_head);
  }
  float& there = score.scores[slot];
  there = score.is_sum ? there + total : fmaxf(there, total);
}

template <unsigned kSteps>
cudaError_t score_with(Queue& queue, const PromptScoreCall& call, const PromptScoreShape& shape) {
  const dim3 grid(static_cast<unsigned>(shape.n_tiles), static_cast<unsigned>(shape.n_group_max),
                  static_cast<unsigned>(shape.n_splits_max));
  return launch(queue, {grid, kThreads, sizeof(Memory<kSteps>)}, score_prompt_keys<kSteps>, call);
}

}  // namespace

cudaError_t score_prompts(Queue& queue, const PromptScoreCall& call,
                          const PromptScoreShape& shape) {
  if (shape.n_tiles == 0) return cudaSuccess;
  cudaError_t error = launch_stretches(shape.n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(shape.n_queries_max, kWarps),
                    static_cast<unsigned>(shape.n_group_max), n);
    return launch(queue, {grid, kThreads}, halve_queries, call.items + first);
  });
  if (error == cudaSuccess)
    error = shape.head_dim <= 64 ? score_with<4>(queue, call, shape)
                                 : score_with<8>(queue, call, shape);
  if (error != cudaSuccess) return error;
  return launch_stretches(shape.n_items, [&](std::size_t first, unsigned n) {
    const dim3 grid(blocks_of(shape.n_slots_max, kThreads), n);
    return launch(queue, {grid, kThreads}, add_parts, call.items + first);
  });
}

}  // namespace satchel::kernels::cuda
