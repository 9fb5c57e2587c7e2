// A Block Transformer beside a plain transformer of as many layers and about as many parameters:
// what a token's keys and values take, and how long decoding takes. Weights are made up, so nothing
// is said of what the models are worth.
//   threads, errors  as BlockTransformer
#pragma once

#include <memory>
#include <stop_token>

#include "app/eval/block_transformer/block_transformer.h"

namespace satchel::eval {

enum class MeasuredModel { plain, blocks };

struct BlocksFigures {
  std::size_t n_parameters = 0;
  std::size_t n_tokens = 0;     // of the text when the clock starts
  std::size_t cache_bytes = 0;  // then, as allocated, the token decoder's lanes included
  double fp16_per_token = 0;    // bytes that the text takes in fp16, over its tokens
  double ms_per_token = 0;      // logits included
};
struct BlocksRequest {
  std::size_t n_before = 2048, n_decode = 128;
};
// Of 12 layers of 256 values, about 10 million parameters; chosen: small enough to fill a long text
// token by token.
Result<BlocksFigures> measure_blocks(std::shared_ptr<kernels::Backend> backend, MeasuredModel which,
                                     const kvcache::Recipe& recipe, const BlocksRequest& request,
                                     std::stop_token stop);

}  // namespace satchel::eval
