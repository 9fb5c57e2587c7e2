#include "app/eval/measure/packed_text.h"

#include <algorithm>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/base/clock.h"
#include "kvcache/comparison/layer_merge.h"
#include "runtime/model/model.h"

namespace satchel::eval {

Result<PackedText> PackedText::read(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                    const PackedTextRequest& request, std::stop_token stop) {
  const std::size_t n_all = request.ids.size() + request.n_after;
  if (n_all > engine.config().context) return context_full(n_all, engine.config().context);
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(auto cache, open_cache(engine, recipe, n_all));
  PackedText text(engine, std::move(cache), request.form, std::move(stop));
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

Result<void> PackedText::read_to(std::span<const std::int32_t> ids) {
  SATCHEL_TRY(read_document(*engine_, *cache_, ids, stop_, logits_));
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
  return {};
}

Result<std::unique_ptr<kvcache::Cache>> PackedText::ask(std::span<const std::int32_t> question) {
  if (question.empty())
    return Error{ErrorKind::invalid, "PARAM", "A question needs at least one token."};
  SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::Cache> copy, cache_->fork());
  for (const std::int32_t id : question) SATCHEL_TRY(step(*copy, id));
  return copy;
}

Result<std::string> PackedText::answer(std::span<const std::int32_t> question,
                                       const AnswerLimits& limits) {
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> copy, ask(question));
  std::vector<std::int32_t> answer;
  std::string said;
  while (answer.size() < limits.n_tokens_max) {
    const auto best = std::max_element(logits_.begin(), logits_.end()) - logits_.begin();
    const auto id = static_cast<std::int32_t>(best);
    if (engine_->tokenizer().ends_turn(id)) break;
    answer.push_back(id);
    said = engine_->tokenizer().text(answer);
    if (limits.enough && limits.enough(said)) break;
    if (answer.size() < limits.n_tokens_max) SATCHEL_TRY(step(*copy, id));
  }
  return said;
}

Result<double> PackedText::log_probability(std::span<const std::int32_t> question,
                                           std::span<const std::int32_t> expected) {
  SATCHEL_ASSERT(!expected.empty());
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> copy, ask(question));
  double sum = -nll(logits_, expected[0]);
  for (std::size_t i = 1; i < expected.size(); ++i) {
    SATCHEL_TRY(step(*copy, expected[i - 1]));
    sum -= nll(logits_, expected[i]);
  }
  return sum;
}

}  // namespace satchel::eval
