#include "app/eval/measure/packed_text.h"

#include <algorithm>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/base/clock.h"
#include "kvcache/comparison/layer_merge.h"
#include "kvcache/edit/cache_edit.h"
#include "runtime/engine_state.h"
#include "runtime/model/model.h"

namespace satchel::eval {
namespace {

Result<std::unique_ptr<kvcache::Cache>> cache_for(runtime::Engine& engine,
                                                  const kvcache::Recipe& recipe,
                                                  const PackedTextRequest& request,
                                                  std::size_t n_tokens) {
  if (!request.open_far) return open_cache(engine, recipe, n_tokens);
  const kvcache::CacheShape& shape = engine.config().cache_shape();
  const double all = static_cast<double>(n_tokens * shape.fp16_bytes_per_token());
  SATCHEL_TRY_ASSIGN(auto arena,
                     kvcache::Arena::open(engine.state().backend,
                                          static_cast<std::size_t>(all * request.limit_share)));
  SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::FarStore> store, request.open_far());
  arena->set_far(std::move(store));
  return kvcache::Cache::open(std::move(arena), shape, recipe);
}

}  // namespace

Result<PackedText> PackedText::read(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                    const PackedTextRequest& request, std::stop_token stop) {
  const std::size_t n_all = request.ids.size() + request.n_after;
  if (n_all > engine.config().context) return context_full(n_all, engine.config().context);
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(auto cache, cache_for(engine, recipe, request, n_all));
  PackedText text(engine, std::move(cache), request, std::move(stop));
  for (const std::size_t end : request.packs_at) {
    SATCHEL_TRY(text.read_to(request.ids.first(end)));
    SATCHEL_TRY(text.pack());
  }
  if (!request.ids.empty()) {
    SATCHEL_TRY(text.read_to(request.ids));
    if (!request.waits) SATCHEL_TRY(text.pack());
  }
  text.read_ms_ = clock.steady_ms() - began;
  if (request.merges_layers) SATCHEL_TRY(text.merge_layers());
  return text;
}

// The window begins where a page does, so that none is cut; the sinks are moved in front of it.
Result<void> PackedText::read_behind_window(std::span<const std::int32_t> ids) {
  constexpr std::size_t kPage = kernels::kPageTokens, kSinks = kvcache::kSinkTokens;
  while (cache_->n_tokens() < ids.size()) {
    const std::size_t at = cache_->n_tokens();
    if (at > window_ + kSinks + kPage) {
      const std::size_t near = kSinks + (at - window_ - kSinks) / kPage * kPage;
      SATCHEL_TRY(cache_->edit().set_reach(
          {.parts = {{.n_tokens = kSinks, .moved = static_cast<std::int32_t>(near - kSinks)}},
           .near_first = near}));
    }
    const std::size_t end = std::min(ids.size(), at + kWindowSpan);
    SATCHEL_TRY(read_document(*engine_, *cache_, ids.first(end), stop_, logits_));
  }
  return cache_->edit().set_reach({});
}

Result<void> PackedText::read_to(std::span<const std::int32_t> ids) {
  SATCHEL_TRY(window_ > 0 ? read_behind_window(ids)
                          : read_document(*engine_, *cache_, ids, stop_, logits_));
  ids_.assign(ids.begin(), ids.end());
  return {};
}

Result<void> PackedText::pack() {
  return pack_document(*engine_, *cache_, ids_, form_, stop_);
}

Result<void> PackedText::merge_layers() {
  kvcache::LayerMerge layers;
  SATCHEL_TRY(layers.merge_new_pages(*cache_));
  merge_saves_ = layers.saved_bytes();
  return {};
}

Result<void> PackedText::step(kvcache::Cache& cache, std::int32_t id) {
  if (stop_.stop_requested()) return stopped();
  return engine_->model().decode_step(cache, id, logits_);
}

Result<void> PackedText::go_on(std::span<const std::int32_t> ids) {
  for (const std::int32_t id : ids) SATCHEL_TRY(step(*cache_, id));
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  return {};
}

Result<PackedText::Asked> PackedText::ask(std::span<const std::int32_t> question) {
  if (question.empty())
    return Error{ErrorKind::invalid, "PARAM", "A question needs at least one token."};
  Asked asked{.copy = nullptr, .cache = cache_.get()};
  if (cache_->is_far()) {
    SATCHEL_TRY(cache_->edit().truncate(ids_.size()));
  } else {
    SATCHEL_TRY_ASSIGN(asked.copy, cache_->fork());
    asked.cache = asked.copy.get();
  }
  for (const std::int32_t id : question) SATCHEL_TRY(step(*asked.cache, id));
  return asked;
}

Result<std::string> PackedText::answer(std::span<const std::int32_t> question,
                                       const AnswerLimits& limits) {
  SATCHEL_TRY_ASSIGN(const Asked asked, ask(question));
  std::vector<std::int32_t> answer;
  std::string said;
  while (answer.size() < limits.n_tokens_max) {
    const auto best = std::max_element(logits_.begin(), logits_.end()) - logits_.begin();
    const auto id = static_cast<std::int32_t>(best);
    if (engine_->tokenizer().ends_turn(id)) break;
    answer.push_back(id);
    said = engine_->tokenizer().text(answer);
    if (limits.enough && limits.enough(said)) break;
    if (answer.size() < limits.n_tokens_max) SATCHEL_TRY(step(*asked.cache, id));
  }
  return said;
}

Result<double> PackedText::log_probability(std::span<const std::int32_t> question,
                                           std::span<const std::int32_t> expected) {
  SATCHEL_ASSERT(!expected.empty());
  SATCHEL_TRY_ASSIGN(const Asked asked, ask(question));
  double sum = -nll(logits_, expected[0]);
  for (std::size_t i = 1; i < expected.size(); ++i) {
    SATCHEL_TRY(step(*asked.cache, expected[i - 1]));
    sum -= nll(logits_, expected[i]);
  }
  return sum;
}

}  // namespace satchel::eval
