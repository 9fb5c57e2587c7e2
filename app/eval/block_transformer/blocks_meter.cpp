#include "app/eval/block_transformer/blocks_meter.h"

#include <algorithm>
#include <utility>

#include "app/eval/measure/passes.h"
#include "kernels/base/clock.h"

namespace satchel::eval {
namespace {

constexpr StackShape kPlainShape{.n_layers = 12,
                                 .n_heads = 4,
                                 .n_kv_heads = 4,
                                 .head_dim = 64,
                                 .ffn_width = 688,
                                 .width = 256,
                                 .n_vocabulary = 4096};

// Of as many functions as BlockTransformer.
class PlainTransformer {
 public:
  static Result<std::unique_ptr<PlainTransformer>> open(
      const std::shared_ptr<kernels::Backend>& backend, const kvcache::Recipe& recipe,
      std::size_t n_tokens_max) {
    auto out = std::make_unique<PlainTransformer>();
    SATCHEL_TRY_ASSIGN(out->layers_, LayerStack::open(backend, kPlainShape, "plain.", 1));
    SATCHEL_TRY_ASSIGN(out->lanes_, CacheLanes::open(backend, kPlainShape, recipe, n_tokens_max));
    SATCHEL_TRY_ASSIGN(out->x_, backend->allocate(kPlainShape.width * sizeof(float)));
    return out;
  }
  Result<void> read(std::span<const std::int32_t> ids, std::span<float> logits) {
    auto* x = reinterpret_cast<float*>(x_.data());
    for (const std::int32_t id : ids) {
      SATCHEL_TRY(layers_->embed({&id, 1}, x));
      SATCHEL_TRY(layers_->pass(*lanes_, x, 1));
    }
    return layers_->logits(x, logits);
  }
  Result<void> compress() { return lanes_->compress(); }
  std::size_t n_parameters() const { return layers_->n_parameters(); }
  kvcache::CacheStats stats() const { return lanes_->stats(); }
  std::size_t token_lane_bytes() const { return 0; }

 private:
  std::unique_ptr<LayerStack> layers_;
  std::unique_ptr<CacheLanes> lanes_;
  kernels::Buffer x_;
};

// Ids are made up; no speed depends on which they are.
template <class Model>
Result<BlocksFigures> measure(Model& model, const BlocksRequest& request,
                              const std::stop_token& stop) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < request.n_before + request.n_decode; ++i)
    ids.push_back(static_cast<std::int32_t>(i * 7919 % kPlainShape.n_vocabulary));
  std::vector<float> logits(kPlainShape.n_vocabulary);
  for (std::size_t at = 0, n = 0; at < request.n_before; at += n) {
    if (stop.stop_requested()) return stopped();
    n = std::min<std::size_t>(64, request.n_before - at);  // so that a stop is soon seen
    SATCHEL_TRY(model.read(std::span(ids).subspan(at, n), logits));
  }
  SATCHEL_TRY(model.compress());
  const kvcache::CacheStats stats = model.stats();
  const auto n_before = static_cast<double>(request.n_before);
  BlocksFigures out{.n_parameters = model.n_parameters(),
                    .n_tokens = request.n_before,
                    .cache_bytes = stats.bytes + model.token_lane_bytes(),
                    .fp16_per_token = static_cast<double>(stats.fp16_bytes) / n_before};
  const SystemClock clock;
  const double began = clock.steady_ms();
  for (std::size_t i = request.n_before; i < ids.size(); ++i) {
    if (stop.stop_requested()) return stopped();
    SATCHEL_TRY(model.read({&ids[i], 1}, logits));
  }
  out.ms_per_token = (clock.steady_ms() - began) / static_cast<double>(request.n_decode);
  return out;
}

}  // namespace

Result<BlocksFigures> measure_blocks(std::shared_ptr<kernels::Backend> backend, MeasuredModel which,
                                     const kvcache::Recipe& recipe, const BlocksRequest& request,
                                     std::stop_token stop) {
  const std::size_t n_tokens = request.n_before + request.n_decode;
  if (which == MeasuredModel::plain) {
    SATCHEL_TRY_ASSIGN(const auto plain, PlainTransformer::open(backend, recipe, n_tokens));
    return measure(*plain, request, stop);
  }
  BlockTransformerShape shape{.blocks = kPlainShape, .tokens = kPlainShape};
  shape.blocks.n_layers = shape.tokens.n_layers = kPlainShape.n_layers / 2;
  SATCHEL_TRY_ASSIGN(const auto blocks, BlockTransformer::open(backend, shape, recipe, n_tokens));
  return measure(*blocks, request, stop);
}

}  // namespace satchel::eval
