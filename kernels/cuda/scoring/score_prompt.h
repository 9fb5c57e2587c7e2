// Scores by the queries of a prompt over keys that are rows of fp16: what compressing a prompt asks
// of its own keys. All else: score.h.
//   shape    a CUDA block holds 256 keys of a KV lane as operand A in registers, and iterates over
//            a split of one head's queries as operand B. A second kernel adds the splits and heads,
//            in order, to the scores
//   numbers  queries are rounded to fp16, as attention over the same keys rounds them
//            (prefill_halves.cu), so that a query's probabilities sum to 1
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention/decode.h"
#include "kernels/cuda/scoring/score.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kKeysOfPromptBlock = 256;
inline constexpr unsigned kQueriesOfStage = 64;

struct PromptScoreItem {
  ScoreItem score = {};    // without fragments and columns
  unsigned n_queries = 0;  // of a head, whole stages
  unsigned n_splits = 1;   // of a head's queries
  unsigned n_slots = 0;    // keys
  unsigned n_words = 0;    // of a query
  std::uint32_t* queries =
      nullptr;                     // [n_group][n_queries][n_words], in the order of half_operands.h
  QueryColumn* columns = nullptr;  // [n_group][n_queries]; factor and lse times log2(e)
  float* parts = nullptr;          // [n_group][n_splits][n_slots]
};
constexpr unsigned prompt_query_words(std::size_t head_dim) {
  return head_dim <= 64 ? 32 : 64;
}
// Rows of queries that attention takes as a prompt's, and no count that a rounding may change.
constexpr bool takes_prompt_scores(const ScoreItem& item) {
  const LaneRows& rows = item.rows;
  return rows.n_tokens * rows.n_group > kTileRowsMost && rows.head_dim <= 128 &&
         rows.head_dim % 8 == 0 && !item.counts_below_mean;
}

using PromptScoreCall = TileCall<PromptScoreItem>;
struct PromptScoreShape {
  std::size_t n_items = 0, n_tiles = 0, head_dim = 0;
  std::size_t n_queries_max = 0, n_group_max = 0, n_splits_max = 0, n_slots_max = 0;
};
cudaError_t score_prompts(Queue& queue, const PromptScoreCall& call, const PromptScoreShape& shape);

}  // namespace satchel::kernels::cuda
