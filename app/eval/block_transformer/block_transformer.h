// BlockTransformer: an architecture whose cache grows once a block of tokens. Three parts: an
// embedder joins the embeddings of a block's tokens to one hidden state; the block decoder, an
// ordinary causal transformer, sees one position a block; the token decoder sees one block only:
// n_prefix hidden states made of the block decoder's state of the block before, then its tokens.
//   cache    the block decoder's lanes advance once a block, under any recipe; the token decoder's
//            are cleared at each block
//   text     begins with a whole block, whose tokens nothing predicts; a block's last token goes to
//            the embedder only
//   weights  made up (layer_stack.h): there is no published file that Satchel could read, and the
//            cache is the point
//   source   arXiv:2406.02657, sections 2 and 3, and its code: embedder "lookup" with "concat",
//            token decoder "prefix" with an expansion layer, blocks of 4, 2 prefix states
//   differs  layers are Llama's instead of GPT-NeoX's; the token decoder's output is tied to its
//            embedding
//   errors   PARAM: a text that does not begin with a whole block; those of LayerStack
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "app/eval/block_transformer/layer_stack.h"

namespace satchel::eval {

struct BlockTransformerShape {
  StackShape blocks, tokens;     // of one vocabulary; blocks' width is a multiple of block_tokens
  std::size_t block_tokens = 4;  // the paper's choice
  std::size_t n_prefix = 2;      // likewise
};

class BlockTransformer {
 public:
  // recipe: of the block decoder's cache. n_tokens_max: of the text.
  static Result<std::unique_ptr<BlockTransformer>> open(std::shared_ptr<kernels::Backend> backend,
                                                        const BlockTransformerShape& shape,
                                                        const kvcache::Recipe& recipe,
                                                        std::size_t n_tokens_max);
  // The next tokens of the text; logits [n_vocabulary] after the last. Of whole blocks before it
  // the token decoder sees nothing.
  Result<void> read(std::span<const std::int32_t> ids, std::span<float> logits);

  // The recipe may quantise the blocks read so far.
  Result<void> compress() { return block_lanes_->compress(); }

  std::size_t n_tokens() const { return n_tokens_; }
  std::size_t n_parameters() const;
  kvcache::CacheStats stats() const { return block_lanes_->stats(); }     // of the block decoder
  std::size_t token_lane_bytes() const { return token_lanes_->bytes(); }  // whatever the text

 private:
  BlockTransformer(std::shared_ptr<kernels::Backend> backend, const BlockTransformerShape& shape)
      : backend_(std::move(backend)), shape_(shape) {}
  Result<void> read_block();
  Result<void> begin_block();

  std::shared_ptr<kernels::Backend> backend_;
  BlockTransformerShape shape_;
  std::unique_ptr<LayerStack> blocks_, tokens_;
  std::unique_ptr<CacheLanes> block_lanes_;
  std::unique_ptr<ShortLanes> token_lanes_;
  std::vector<std::vector<float>> values_;   // of the two below
  std::unique_ptr<kernels::Weight> table_;   // the embedder's, [n_vocabulary, width / block_tokens]
  std::unique_ptr<kernels::Weight> expand_;  // [n_prefix · tokens' width, blocks' width]
  kernels::Buffer expand_bias_;
  kernels::Buffer block_x_, normed_, token_x_;
  std::vector<std::int32_t> block_;  // tokens of the block that is not full
  std::size_t n_tokens_ = 0;
};

}  // namespace satchel::eval
