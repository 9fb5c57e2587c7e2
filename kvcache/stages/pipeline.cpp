#include "kvcache/stages/pipeline.h"

#include <algorithm>
#include <string>

#include "kvcache/cache.h"

namespace satchel::kvcache {
namespace {

// Makes one stage from `{ "use": "name", … }` or `"name"`.
template <class T>
Result<std::unique_ptr<T>> make_one(StageKind kind, const JsonNode& node, std::string_view called) {
  const JsonNode* use = node.kind == JsonNode::Kind::object ? node.find("use") : &node;
  if (use == nullptr || use->kind != JsonNode::Kind::string)
    return recipe_error(called, node.line,
                        "a " + std::string(to_text(kind)) + " is { \"use\": \"name\", … }.");
  std::string known;
  for (const StageEntry* entry : all_stages()) {
    if (entry->kind != kind) continue;
    if (entry->name == use->string) {
      Params params(node, called);
      SATCHEL_TRY_ASSIGN(std::unique_ptr<Stage> stage, entry->make(params));
      SATCHEL_TRY(params.check_all_known());
      return std::unique_ptr<T>(static_cast<T*>(stage.release()));
    }
    known += (known.empty() ? "" : ", ") + std::string(entry->name);
  }
  return recipe_error(called, use->line,
                      "there is no " + std::string(to_text(kind)) + " \"" + use->string +
                          "\"; known: " + known + ".");
}

class Maker {
 public:
  Maker(const JsonNode& recipe, std::string_view called) : recipe_(recipe), called_(called) {}

  Result<const JsonNode*> node(std::string_view key) const {
    const JsonNode* found = recipe_.find(key);
    if (found == nullptr)
      return recipe_error(called_, recipe_.line, "\"" + std::string(key) + "\" is missing.");
    return found;
  }
  template <class T>
  Result<void> one(StageKind kind, std::unique_ptr<T>& stage) const {
    SATCHEL_TRY_ASSIGN(const JsonNode* at, node(to_text(kind)));
    SATCHEL_TRY_ASSIGN(stage, make_one<T>(kind, *at, called_));
    return {};
  }
  Result<void> filters(std::vector<std::unique_ptr<Filter>>& filters) const {
    SATCHEL_TRY_ASSIGN(const JsonNode* at, node("filter"));
    if (at->kind != JsonNode::Kind::array)
      return recipe_error(called_, at->line, "\"filter\" must be a list.");
    for (const JsonNode& item : at->items) {
      SATCHEL_TRY_ASSIGN(auto filter, make_one<Filter>(StageKind::filter, item, called_));
      filters.push_back(std::move(filter));
    }
    return {};
  }
  Result<void> codecs(std::unique_ptr<Codec>& k, std::unique_ptr<Codec>& v) const {
    SATCHEL_TRY_ASSIGN(const JsonNode* at, node("codec"));
    const JsonNode* k_node = at->find("k");
    const JsonNode* v_node = at->find("v");
    if (k_node == nullptr || v_node == nullptr || at->members.size() != 2)
      return recipe_error(called_, at->line, "\"codec\" must be { \"k\": …, \"v\": … }.");
    SATCHEL_TRY_ASSIGN(k, make_one<Codec>(StageKind::codec, *k_node, called_));
    SATCHEL_TRY_ASSIGN(v, make_one<Codec>(StageKind::codec, *v_node, called_));
    if (k->plane().form != v->plane().form)
      return recipe_error(called_, at->line,
                          "\"k\" and \"v\" must both be exact or both be packed.");
    return {};
  }

 private:
  const JsonNode& recipe_;
  std::string_view called_;
};

Result<double> read_keep(const JsonNode& recipe, const Trigger& trigger, std::string_view called) {
  const JsonNode* node = recipe.find("keep");
  if (node == nullptr) return 1.0;
  const bool fits = node->kind == JsonNode::Kind::number && node->number > 0 && node->number <= 1;
  if (!fits)
    return recipe_error(called, node->line,
                        "\"keep\" must be above 0 and at most 1, is " + json_text(*node) + ".");
  if (!trigger.ever_fires() && node->number != 1)
    return recipe_error(
        called, node->line,
        "\"keep\" must be 1, as this recipe never evicts; it is " + json_text(*node) + ".");
  return node->number;
}

}  // namespace

std::string_view to_text(StageKind kind) {
  switch (kind) {
    case StageKind::trigger:
      return "trigger";
    case StageKind::scorer:
      return "scorer";
    case StageKind::filter:
      return "filter";
    case StageKind::allocator:
      return "allocator";
    case StageKind::assigner:
      return "assigner";
    case StageKind::merger:
      return "merger";
    case StageKind::codec:
      return "codec";
    case StageKind::reader:
      break;
  }
  return "reader";
}

Result<Pipeline> Pipeline::make(const JsonNode& recipe, std::string_view called) {
  Pipeline made;
  const Maker maker(recipe, called);
  SATCHEL_TRY(maker.one(StageKind::trigger, made.trigger_));
  SATCHEL_TRY_ASSIGN(made.keep_, read_keep(recipe, *made.trigger_, called));
  SATCHEL_TRY(maker.codecs(made.k_codec_, made.v_codec_));
  SATCHEL_TRY(maker.one(StageKind::reader, made.reader_));
  if (!made.trigger_->ever_fires()) return made;
  SATCHEL_TRY(maker.one(StageKind::scorer, made.scorer_));
  SATCHEL_TRY(maker.filters(made.filters_));
  SATCHEL_TRY(maker.one(StageKind::allocator, made.allocator_));
  SATCHEL_TRY(maker.one(StageKind::assigner, made.assigner_));
  SATCHEL_TRY(maker.one(StageKind::merger, made.merger_));
  SATCHEL_TRY_ASSIGN(const JsonNode* filter, maker.node("filter"));
  SATCHEL_TRY(made.check_protection(called, filter->line));
  return made;
}

// Sinks and tail are exact parts of every lane: a selection that drops them has no meaning here.
Result<void> Pipeline::check_protection(std::string_view called, std::size_t line) const {
  // A span so short that no share of it stands in for the tail.
  const TokenSpan span{
      .n_layers = 1, .n_kv_heads = 1, .n_tokens = kSinkTokens + kTailTokens, .keep = keep_};
  Filter::Protected kept;
  for (const auto& filter : filters_) {
    const Filter::Protected more = filter->protects(span);
    kept.first = std::max(kept.first, more.first);
    kept.last = std::max(kept.last, more.last);
  }
  if (kept.first >= kSinkTokens && kept.last >= kTailTokens) return {};
  return recipe_error(called, line,
                      "\"filter\" must protect at least " + std::to_string(kSinkTokens) +
                          " sinks and a tail of " + std::to_string(kTailTokens) + ".");
}

bool Pipeline::evicts(std::size_t n_new_tokens) const {
  return can_evict() && trigger_->fires_after_prompt(n_new_tokens);
}

Result<kernels::PageLayout> Pipeline::page_layout(std::size_t head_dim) const {
  const PagePlane k = k_codec_->plane();
  const PagePlane v = v_codec_->plane();
  if (k.form == kernels::PageForm::exact16) return kernels::exact_layout(head_dim);
  return kernels::affine_layout({.head_dim = head_dim,
                                 .k_bits = k.bits,
                                 .v_bits = v.bits,
                                 .k_group = k.group,
                                 .v_group = v.group});
}

std::size_t Pipeline::n_protected(const TokenSpan& span) const {
  Filter::Protected kept;
  for (const auto& filter : filters_) {
    const Filter::Protected more = filter->protects(span);
    kept.first = std::max(kept.first, more.first);
    kept.last = std::max(kept.last, more.last);
  }
  return std::min(span.n_tokens, kept.first + kept.last);
}

Result<void> Pipeline::filter(kernels::Backend& backend, const TokenSpan& span,
                              float* scores) const {
  for (const auto& filter : filters_) SATCHEL_TRY(filter->apply(backend, span, scores));
  return {};
}

void Pipeline::allocate(const TokenSpan& span, std::span<std::size_t> budgets) const {
  SATCHEL_ASSERT(budgets.size() == span.n_layers * span.n_kv_heads);
  allocator_->allocate(span, n_protected(span), budgets);
}

}  // namespace satchel::kvcache
