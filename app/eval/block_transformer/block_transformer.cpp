#include "app/eval/block_transformer/block_transformer.h"

#include <algorithm>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/contract/weight_type.h"

namespace satchel::eval {
namespace {

float* floats(kernels::Buffer& buffer) {
  return reinterpret_cast<float*>(buffer.data());
}

}  // namespace

Result<std::unique_ptr<BlockTransformer>> BlockTransformer::open(
    std::shared_ptr<kernels::Backend> backend, const BlockTransformerShape& shape,
    const kvcache::Recipe& recipe, std::size_t n_tokens_max) {
  SATCHEL_ASSERT(shape.block_tokens > 0 && shape.blocks.width % shape.block_tokens == 0);
  SATCHEL_ASSERT(shape.n_prefix > 0 && shape.tokens.n_vocabulary > 0);
  std::unique_ptr<BlockTransformer> out(new BlockTransformer(std::move(backend), shape));
  kernels::Backend& on = *out->backend_;
  StackShape blocks = shape.blocks;
  blocks.n_vocabulary = 1;  // embedder and token decoder stand in its place
  const std::size_t n_expanded = shape.n_prefix * shape.tokens.width;
  SATCHEL_TRY_ASSIGN(out->blocks_, LayerStack::open(out->backend_, blocks, "block.", 1));
  SATCHEL_TRY_ASSIGN(out->tokens_,
                     LayerStack::open(out->backend_, shape.tokens, "token.", shape.n_prefix));
  SATCHEL_TRY_ASSIGN(out->block_lanes_, CacheLanes::open(out->backend_, blocks, recipe,
                                                         n_tokens_max / shape.block_tokens + 1));
  SATCHEL_TRY_ASSIGN(out->token_lanes_, ShortLanes::open(out->backend_, shape.tokens,
                                                         shape.n_prefix + shape.block_tokens - 1));
  SATCHEL_TRY_ASSIGN(out->table_,
                     made_matrix(on, "embedder", shape.tokens.n_vocabulary,
                                 shape.blocks.width / shape.block_tokens, out->values_));
  SATCHEL_TRY_ASSIGN(out->expand_,
                     made_matrix(on, "expand", n_expanded, shape.blocks.width, out->values_));
  const std::vector<float> bias = made_values("expand.bias", n_expanded, 0.25);
  SATCHEL_TRY_ASSIGN(out->expand_bias_, on.allocate(n_expanded * sizeof(float)));
  SATCHEL_TRY(on.upload(out->expand_bias_.data(), std::as_bytes(std::span(bias))));
  for (kernels::Buffer* row : {&out->block_x_, &out->normed_}) {
    SATCHEL_TRY_ASSIGN(*row, on.allocate(shape.blocks.width * sizeof(float)));
  }
  SATCHEL_TRY_ASSIGN(out->token_x_, on.allocate(n_expanded * sizeof(float)));
  return out;
}

std::size_t BlockTransformer::n_parameters() const {
  std::size_t n = blocks_->n_parameters() - shape_.blocks.width;  // its embedding is never read
  for (const std::vector<float>& values : values_) n += values.size();
  return n + tokens_->n_parameters() + shape_.n_prefix * shape_.tokens.width;
}

// The tokens of a full block through the block decoder.
Result<void> BlockTransformer::read_block() {
  SATCHEL_TRY(backend_->embed(*table_, block_, floats(block_x_)));  // side by side: one state
  block_.clear();
  return blocks_->pass(*block_lanes_, floats(block_x_), 1);
}

// What the token decoder has of the block before.
Result<void> BlockTransformer::begin_block() {
  token_lanes_->clear();
  SATCHEL_TRY(blocks_->norm(floats(block_x_), floats(normed_)));
  const kernels::Backend::Projection product{
      .weight = expand_.get(), .out = floats(token_x_), .bias = floats(expand_bias_)};
  SATCHEL_TRY(backend_->project(floats(normed_), 1, {&product, 1}));
  return tokens_->pass(*token_lanes_, floats(token_x_), shape_.n_prefix);
}

Result<void> BlockTransformer::read(std::span<const std::int32_t> ids, std::span<float> logits) {
  if (ids.empty() || n_tokens_ + ids.size() < shape_.block_tokens)
    return Error{
        ErrorKind::invalid, "PARAM",
        "A text begins with a whole block of " + std::to_string(shape_.block_tokens) + " tokens."};
  const std::size_t last_begins =
      (n_tokens_ + ids.size()) / shape_.block_tokens * shape_.block_tokens;
  for (const std::int32_t id : ids) {
    block_.push_back(id);
    ++n_tokens_;
    const bool is_full = block_.size() == shape_.block_tokens;
    if (is_full) SATCHEL_TRY(read_block());
    if (is_full && n_tokens_ == last_begins) SATCHEL_TRY(begin_block());
    if (!is_full && n_tokens_ > last_begins) {
      SATCHEL_TRY(tokens_->embed({&id, 1}, floats(token_x_)));
      SATCHEL_TRY(tokens_->pass(*token_lanes_, floats(token_x_), 1));
    }
  }
  const std::size_t row = block_.empty() ? shape_.n_prefix - 1 : 0;
  return tokens_->logits(floats(token_x_) + row * shape_.tokens.width, logits);
}

}  // namespace satchel::eval
