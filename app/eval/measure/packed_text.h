// PackedText: a text that was read once under a recipe and packed, to be asked about any number of
// times, each time on a copy of the cache, so that no question knows of another. On disk, where a
// copy's own sinks and tails would have no room, each question is cut off again instead.
//   needs   an Engine that nobody else uses meanwhile, and that outlives it
//   errors  MEMORY, CONTEXT_FULL, LAYER_MERGE, cancelled/STOPPED, those of tokenizer and model
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/eval/measure/passes.h"
#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval {

inline constexpr std::size_t kWindowSpan = 512;  // tokens; chosen

struct PackedTextRequest {
  std::span<const std::int32_t> ids;  // read as one document; may be empty
  std::size_t n_after = 0;            // tokens of a question and its answer at most, behind it
  TextForm form = TextForm::raw;
  // Ends of beginnings of `ids`, rising: each is packed before what follows it is read, as messages
  // are.
  std::span<const std::size_t> packs_at = {};
  bool waits = false;  // what the recipe lets wait at the end of `ids` waits for pack()
  // Pages are then merged over pairs of layers (kvcache::LayerMerge); those of questions and
  // answers are not, and stats() tells what was held before. Not with `waits`.
  bool merges_layers = false;
  // Tokens in front of each kWindowSpan that it sees while it is read, at least, beside the sinks;
  // when all is read, all is seen (ReKV, arXiv:2503.00540, within the context). 0: all.
  std::size_t window = 0;
  // Set: pages lie there, under a memory limit of limit_share of what ids and n_after take in fp16.
  kvcache::OpenFarStore open_far = {};
  double limit_share = 0;
};

// How an answer ends, beside the model's own end of turn.
struct AnswerLimits {
  std::size_t n_tokens_max = 64;
  // Looked at after each token with all that was said; true ends the answer. May be empty.
  std::function<bool(std::string_view said)> enough = {};
};

class PackedText {
 public:
  // What is asked later is not known while this packs, unless it stands in request.ids.
  static Result<PackedText> read(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                 const PackedTextRequest& request, std::stop_token stop);

  // The question goes token by token, so that a recipe has no prompt to compress in it; the answer
  // is greedy.
  //   needs  a question of at least one token; n_after of the request not exceeded
  Result<std::string> answer(std::span<const std::int32_t> question, const AnswerLimits& limits);
  // Of `expected` as the first tokens of the answer, in nats; as answer().
  //   needs  at least one token expected
  Result<double> log_probability(std::span<const std::int32_t> question,
                                 std::span<const std::int32_t> expected);

  // Tokens of a chat, one by one, in front of whatever is asked from now on.
  //   needs  n_after of the request not exceeded
  Result<void> go_on(std::span<const std::int32_t> ids);

  // What waits, as at the end of a turn.
  Result<void> pack();

  kvcache::Cache& cache() { return *cache_; }
  kvcache::CacheStats stats() const { return cache_->stats(); }
  double read_ms() const { return read_ms_; }               // reading and packing
  std::size_t merge_saves() const { return merge_saves_; }  // LayerMerge::saved_bytes()

 private:
  PackedText(runtime::Engine& engine, std::unique_ptr<kvcache::Cache> cache,
             const PackedTextRequest& request, std::stop_token stop)
      : engine_(&engine),
        cache_(std::move(cache)),
        form_(request.form),
        window_(request.window),
        stop_(std::move(stop)),
        logits_(engine.config().n_vocabulary) {}
  Result<void> read_to(std::span<const std::int32_t> ids);
  Result<void> read_behind_window(std::span<const std::int32_t> ids);
  Result<void> merge_layers();
  // The cache that has read the question; logits_ are those behind it.
  struct Asked {
    std::unique_ptr<kvcache::Cache> copy;
    kvcache::Cache* cache;
  };
  Result<Asked> ask(std::span<const std::int32_t> question);
  Result<void> step(kvcache::Cache& cache, std::int32_t id);

  runtime::Engine* engine_;
  std::unique_ptr<kvcache::Cache> cache_;
  TextForm form_;
  std::size_t window_;
  std::stop_token stop_;
  std::vector<std::int32_t> ids_;  // read so far
  std::vector<float> logits_;      // [n_vocabulary], lent to one call at a time
  double read_ms_ = 0;
  std::size_t merge_saves_ = 0;
};

}  // namespace satchel::eval
