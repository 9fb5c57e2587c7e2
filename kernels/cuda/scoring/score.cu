#include "kernels/cuda/scoring/score.h"

#include "kernels/cuda/attention/query_rows.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/block_copy.h"
#include "kernels/cuda/primitives/mma.h"
#include "kernels/cuda/primitives/shared_memory.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 4, kThreads = kWarps * kWarp, kSets = 2;  // sets that lie there at once
constexpr unsigned kColumns = kSets * kQueriesOfSet;

// kSteps: of 16 channels, at most; kTiles: of 16 keys, a warp's; kParts: fp16 of a key.
template <unsigned kSteps, unsigned kTiles, unsigned kParts>
struct Form {
  static constexpr unsigned kKeyRows = 8;  // that a warp reads at once
  static constexpr unsigned kStride = key_stride(kSteps);
  static_assert(kWarps * kTiles * 16 == tile_keys_of_score(kSteps * 16));

  struct KeyMemory {
    std::uint32_t words[kParts][kKeyRows * kStride];
    float row[kSteps * 16];
  };
  struct QueryMemory {
    QueryFragment fragments[kSets * kSteps * kWarp];
    QueryColumn columns[kColumns];
    std::int32_t positions[kColumns];
  };
  struct Memory {
    union {
      KeyMemory keys[kWarps];
      QueryMemory queries[2];  // one is read while the other is filled
    };
    ScoreItem item;  // what the block works for
  };
  // Operand A: 16 · kTiles keys.
  struct Keys {
    std::uint32_t words[kParts][kTiles][kSteps][4];
  };
};

template <class F, unsigned kSteps, unsigned kTiles, unsigned kParts>
__device__ void load_keys(const TokenSources& tables, const TokenSource& source, unsigned first,
                          const LaneRows& rows, typename F::KeyMemory& memory,
                          typename F::Keys& keys) {
  const unsigned thread = threadIdx.x % kWarp, row = thread / 4 * F::kStride + thread % 4;
#pragma unroll
  for (unsigned i = 0; i < 2 * kTiles; ++i) {
    fill_keys<kSteps, F::kKeyRows, kParts == 2>(
        tables, source, first + i * F::kKeyRows, rows.head_dim, {rows.n_pairs, rows.adjacent_pairs},
        memory.words[0], memory.words[kParts - 1], memory.row);
    __syncwarp();
#pragma unroll
    for (unsigned part = 0; part < kParts; ++part)
#pragma unroll
      for (unsigned step = 0; step < kSteps; ++step) {
        keys.words[part][i / 2][step][i % 2] = memory.words[part][row + 8 * step];
        keys.words[part][i / 2][step][i % 2 + 2] = memory.words[part][row + 8 * step + 4];
      }
    __syncwarp();
  }
}

// The sets of queries that pass by: those of head 0 that see any of the keys, then of head 1 …
struct Passing {
  unsigned first_set, end_set, per_head, n;  // stages of kSets sets

  __device__ Passing(const LaneRows& rows, PositionRange keys) {
    const unsigned first = first_at(rows, keys.first + rows.least_back);
    const unsigned end = first_at(rows, keys.last + rows.most_back + 1);
    first_set = first / kQueriesOfSet;
    end_set = end <= first ? first_set : (end + kQueriesOfSet - 1) / kQueriesOfSet;
    per_head = (end_set - first_set + kSets - 1) / kSets;
    n = per_head * rows.n_group;
  }
  __device__ unsigned head(unsigned stage) const { return stage / per_head; }
  __device__ unsigned set(unsigned stage) const { return first_set + stage % per_head * kSets; }
  __device__ unsigned sets(unsigned stage) const {
    const unsigned left = end_set - set(stage);
    return left < kSets ? left : kSets;
  }
};

// A stage on its way from device to shared memory, in registers.
template <unsigned kSteps>
struct Fetched {
  static constexpr unsigned kCount = kSets * kSteps * kWarp / kThreads;
  QueryFragment fragments[kCount];
  QueryColumn column;
  std::int32_t position = 0;
  unsigned n_fragments = 0, n_columns = 0;

  __device__ void fetch(const ScoreItem& item, const Passing& passing, unsigned stage) {
    const unsigned n_steps = steps_of(item.rows.head_dim), first = passing.set(stage);
    const std::size_t set = std::size_t{passing.head(stage)} * item.n_sets + first;
    n_fragments = passing.sets(stage) * n_steps * kWarp;
    n_columns = passing.sets(stage) * kQueriesOfSet;
    const QueryFragment* from = item.fragments + set * n_steps * kWarp;
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i)
      if (threadIdx.x + i * kThreads < n_fragments) fragments[i] = from[threadIdx.x + i * kThreads];
    if (threadIdx.x >= n_columns) return;
    column = item.columns[set * kQueriesOfSet + threadIdx.x];
    const unsigned token = first * kQueriesOfSet + threadIdx.x, last = item.rows.n_tokens - 1;
    position = item.rows.positions[token < last ? token : last];
  }
  template <class Memory>
  __device__ void put(Memory& to) const {
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i)
      if (threadIdx.x + i * kThreads < n_fragments)
        to.fragments[threadIdx.x + i * kThreads] = fragments[i];
    if (threadIdx.x >= n_columns) return;
    to.columns[threadIdx.x] = column;
    to.positions[threadIdx.x] = position;
  }
};

// The contribution of a query to the score of a key.
__device__ __forceinline__ float importance(const ScoreItem& item, const QueryColumn& column,
                                            float product) {
  float logit = product * column.factor;
  if (item.rows.soft_cap > 0) logit = item.rows.soft_cap * tanhf(logit / item.rows.soft_cap);
  const float share = exp2f((logit - column.lse) * kLog2OfE);
  if (item.counts_below_mean) return share < column.mean ? column.weight : 0.0f;
  return share * column.weight;
}

// Sums or maxima of the keys that this thread has rows of: key 8 · i + thread / 4 of the warp's.
template <unsigned kTiles>
struct Found {
  float of[2 * kTiles];

  __device__ explicit Found(bool is_sum) {
    for (float& x : of) x = is_sum ? 0.0f : kNothing;
  }
  __device__ void add(bool is_sum, unsigned i, float x) {
    of[i] = is_sum ? of[i] + x : fmaxf(of[i], x);
  }
};

template <class F, unsigned kSteps, unsigned kTiles, unsigned kParts>
__device__ void add_set(const ScoreItem& item, const typename F::Keys& keys,
                        const typename F::QueryMemory& queries, unsigned set, unsigned n_there,
                        PositionRange range, const std::int32_t (&positions)[2 * kTiles],
                        Found<kTiles>& found) {
  const unsigned thread = threadIdx.x % kWarp, n_steps = steps_of(item.rows.head_dim);
  float products[kTiles][2][4] = {};  // by the queries' upper parts, and the rest
#pragma unroll
  for (unsigned step = 0; step < kSteps; ++step) {
    if (step >= n_steps) break;
    const QueryFragment query = queries.fragments[(set * n_steps + step) * kWarp + thread];
#pragma unroll
    for (unsigned m = 0; m < kTiles; ++m) {
      multiply_add(products[m][0], keys.words[0][m][step], query.high);
      multiply_add(products[m][1], keys.words[0][m][step], query.low);
      if constexpr (kParts == 2) multiply_add(products[m][1], keys.words[1][m][step], query.high);
    }
  }
  const std::int32_t* of_set = queries.positions + set * kQueriesOfSet;
  const bool every = n_there >= kQueriesOfSet &&
                     all_see_all(item.rows, {of_set[0], of_set[kQueriesOfSet - 1]}, range);
#pragma unroll
  for (unsigned c = 0; c < 2; ++c) {
    const unsigned in_set = thread % 4 * 2 + c;
    const QueryColumn column = queries.columns[set * kQueriesOfSet + in_set];
#pragma unroll
    for (unsigned i = 0; i < 2 * kTiles; ++i) {
      const unsigned at = i % 2 * 2 + c;
      if (!every && (in_set >= n_there || !can_attend(item.rows, of_set[in_set], positions[i])))
        continue;
      found.add(item.is_sum, i,
                importance(item, column, products[i / 2][0][at] + products[i / 2][1][at]));
    }
  }
}

// Reduces `found` over the quad, and adds it to the total of all heads.
template <unsigned kTiles>
__device__ void take_head(const ScoreItem& item, Found<kTiles>& found, Found<kTiles>& total) {
  for (unsigned i = 0; i < 2 * kTiles; ++i) {
    const float of_head = item.is_sum ? quad_sum(found.of[i]) : quad_max(found.of[i]);
    if (item.mean_of_heads)
      total.of[i] += of_head / static_cast<float>(item.rows.n_group);
    else
      total.of[i] = fmaxf(total.of[i], of_head);
  }
  found = Found<kTiles>(item.is_sum);
}

template <unsigned kSteps, unsigned kTiles, unsigned kParts>
__global__ void __launch_bounds__(kThreads) score_keys(const ScoreCall call) {
  wait_for_launch_before();
  using F = Form<kSteps, kTiles, kParts>;
  auto& memory = shared_memory<typename F::Memory>();
  const KeyTile tile = call.tiles[blockIdx.x];
  copy_for_block(memory.item, call.items[tile.item]);
  const ScoreItem& item = memory.item;
  const TokenSource& source = call.sources[tile.source];
  const unsigned warp = threadIdx.x / kWarp, thread = threadIdx.x % kWarp;
  const PositionRange range = positions_of(source, tile.first, kWarps * kTiles * 16);
  const Passing passing(item.rows, range);
  if (passing.n == 0) return;

  typename F::Keys keys;
  const unsigned first = tile.first + warp * kTiles * 16;
  load_keys<F, kSteps, kTiles, kParts>(
      {call.sources, call.plans, reinterpret_cast<const CosineSine*>(call.rotations)}, source,
      first, item.rows, memory.keys[warp], keys);
  std::int32_t positions[2 * kTiles];
  for (unsigned i = 0; i < 2 * kTiles; ++i) {
    const unsigned token = first + 8 * i + thread / 4;
    positions[i] = token < source.n_tokens ? source.positions[token] + source.shift : 0;
  }
  __syncthreads();  // the keys' memory becomes the queries'

  Fetched<kSteps> fetched;
  fetched.fetch(item, passing, 0);
  fetched.put(memory.queries[0]);
  __syncthreads();
  Found<kTiles> found(item.is_sum), total(item.mean_of_heads);
  for (unsigned stage = 0; stage < passing.n; ++stage) {
    const bool has_next = stage + 1 < passing.n;
    if (has_next) fetched.fetch(item, passing, stage + 1);
    for (unsigned set = 0; set < passing.sets(stage); ++set) {
      const unsigned token = (passing.set(stage) + set) * kQueriesOfSet;
      add_set<F, kSteps, kTiles, kParts>(item, keys, memory.queries[stage % 2], set,
                                         item.rows.n_tokens - token, range, positions, found);
    }
    if ((stage + 1) % passing.per_head == 0) take_head(item, found, total);
    if (has_next) fetched.put(memory.queries[(stage + 1) % 2]);
    __syncthreads();
  }
  if (thread % 4 != 0) return;
  for (unsigned i = 0; i < 2 * kTiles; ++i) {
    const unsigned token = first + 8 * i + thread / 4;
    if (!is_live(source, token)) continue;
    float& score = item.scores[tile.slot + token - tile.first];
    score = item.is_sum ? score + total.of[i] : fmaxf(score, total.of[i]);
  }
}

template <unsigned kSteps, unsigned kTiles>
cudaError_t score_with(Queue& queue, const ScoreCall& call, std::size_t n_tiles, bool are_halves) {
  const auto n = static_cast<unsigned>(n_tiles);
  if (are_halves)
    return launch(queue, {n, kThreads, sizeof(typename Form<kSteps, kTiles, 1>::Memory)},
                  score_keys<kSteps, kTiles, 1>, call);
  return launch(queue, {n, kThreads, sizeof(typename Form<kSteps, kTiles, 2>::Memory)},
                score_keys<kSteps, kTiles, 2>, call);
}

}  // namespace

cudaError_t score_tiles(Queue& queue, const ScoreCall& call, std::size_t n_tiles,
                        std::size_t head_dim, bool are_halves) {
  if (head_dim <= 64) return score_with<4, 2>(queue, call, n_tiles, are_halves);
  if (head_dim <= 128) return score_with<8, 2>(queue, call, n_tiles, are_halves);
  return score_with<16, 1>(queue, call, n_tiles, are_halves);
}

}  // namespace satchel::kernels::cuda
