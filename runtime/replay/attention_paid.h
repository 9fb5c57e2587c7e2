// AttentionPaid: which tokens of a chat the queries of one of its texts attend to, so that people
// can be shown what an answer looked at.
//   how      a few tokens of the text run again over what the cache holds now (Model::replay), and
//            the softmax weights of their queries are summed: nothing is kept while an answer is
//            written, so that a step costs what it did. Where a recipe reads only some pages in a
//            step, the weights are those over all of them
//   which    16 tokens, spread evenly over the text; all of a shorter one. Up to 128 tokens, each
//            runs by itself; longer texts run in 4 stretches of 32, also spread evenly, of which
//            every eighth token counts (AttentionSamples)
//   cost     16 decode steps, or 128 tokens of prefill; with recurrent layers also, each time, the
//            tokens from the nearest checkpoint on. Scratch of the arena
//   source   the mass that arXiv:2306.14048 (H2O) sums while decoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "kernels/base/index_range.h"
#include "runtime/model/model.h"

namespace satchel::runtime {

struct AttentionPaid {
  std::size_t n_queries = 0;  // 0: the cache has seen nothing of the text
  // [tokens that the cache has seen] share of a query's attention: the mean over the queries, the
  // heads, and the layers that people are shown. They sum to at most 1: tokens merged into one are
  // counted once, and so is a sink's logit, which is no token.
  std::vector<float> shares = {};
};

// tokens  of the cache's text; text: of them
//   errors  MEMORY, cancelled/STOPPED, those of Model::replay. Nothing has changed
Result<AttentionPaid> attention_paid(Model& model, kvcache::Cache& cache,
                                     std::span<const std::int32_t> tokens, const IndexRange& text,
                                     const std::stop_token& stop);

}  // namespace satchel::runtime
