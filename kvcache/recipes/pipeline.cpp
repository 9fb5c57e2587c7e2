#include "kvcache/recipes/pipeline.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

#include "kvcache/shape/lane_limits.h"
#include "kvcache/shape/tier.h"
#include "kvcache/stages/registry.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kTailMin = 16;  // chosen: a word or two before what is being said

// Makes one stage from `{ "use": "name", … }` or `"name"`.
template <class T>
Result<std::unique_ptr<T>> make_one(StageKind kind, const JsonNode& node, std::string_view called) {
  const JsonNode* use = node.kind == JsonNode::Kind::object ? node.find("use") : &node;
  if (use == nullptr || use->kind != JsonNode::Kind::string)
    return recipe_error(called, node.line,
                        "a " + std::string(to_text(kind)) + " must be { \"use\": \"name\", … }.");
  const StageEntry* entry = find_stage(kind, use->string);
  if (entry == nullptr) return no_such_stage(kind, use->string, called, use->line);
  Params params(node, called);
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Stage> stage, entry->make(params));
  SATCHEL_TRY(params.check_all_known());
  return std::unique_ptr<T>(static_cast<T*>(stage.release()));
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
  // { "k": …, "v": … }, or a list of such, finest first.
  Result<void> codecs(std::vector<CodecPair>& codecs) const {
    SATCHEL_TRY_ASSIGN(const JsonNode* at, node("codec"));
    if (at->kind != JsonNode::Kind::array) return codec(*at, codecs);
    for (const JsonNode& item : at->items) SATCHEL_TRY(codec(item, codecs));
    if (codecs.empty() || codecs.size() > kCodecsMax)
      return recipe_error(called_, at->line,
                          "\"codec\" must list 1 to " + std::to_string(kCodecsMax) + " tiers.");
    return {};
  }
  // A list of { "codec": … }, coarser and coarser, and { "share": 0.5 }, less and less.
  Result<void> reclaim_steps(std::vector<CodecPair>& codecs,
                             std::vector<ReclaimStep>& steps) const {
    const JsonNode* at = recipe_.find("room");
    if (at == nullptr) return {};
    if (at->kind != JsonNode::Kind::array)
      return recipe_error(called_, at->line, "\"room\" must be a list.");
    double share = 1;
    for (const JsonNode& item : at->items) {
      const JsonNode* codec_node = item.find("codec");
      const JsonNode* share_node = item.find("share");
      if ((codec_node == nullptr) == (share_node == nullptr) || item.members.size() != 1)
        return recipe_error(called_, item.line,
                            "a step of \"room\" must be { \"codec\": … } or { \"share\": 0.5 }.");
      if (codec_node != nullptr) {
        steps.push_back({.tier = static_cast<std::uint8_t>(kTierRecipe + codecs.size())});
        SATCHEL_TRY(codec(*codec_node, codecs));
        SATCHEL_TRY(check_coarser(codecs[codecs.size() - 2], codecs.back(), codec_node->line));
        continue;
      }
      if (share_node->kind != JsonNode::Kind::number || share_node->number <= 0 ||
          share_node->number >= share)
        return recipe_error(
            called_, item.line,
            "\"share\", a fraction of the tokens that the recipe keeps, must be above "
            "0, below 1 and below the share before it, but is " +
                json_text(*share_node) + ".");
      share = share_node->number;
      steps.push_back({.share = share});
    }
    if (codecs.size() > kCodecsMax)
      return recipe_error(called_, at->line,
                          "\"codec\" and \"room\" may have at most " + std::to_string(kCodecsMax) +
                              " tiers together.");
    return {};
  }

 private:
  static std::string name_of(const JsonNode& node) {
    const JsonNode* use = node.kind == JsonNode::Kind::object ? node.find("use") : &node;
    const JsonNode* bits = node.find("bits");
    return use->string + (bits == nullptr ? "" : " " + json_text(*bits) + " bits");
  }
  // Text goes from one step to the next: a codec that takes more reclaims nothing. Codecs whose
  // order depends on the size of a head pass.
  Result<void> check_coarser(const CodecPair& before, const CodecPair& after,
                             std::size_t line) const {
    constexpr std::size_t kHeadDims[] = {64, 128};
    double bits_before = 0, bits_after = 0;
    for (const std::size_t head_dim : kHeadDims) {
      bits_before = bits_of(before, head_dim);
      bits_after = bits_of(after, head_dim);
      if (bits_before == 0 || bits_after <= bits_before) return {};
    }
    return recipe_error(called_, line,
                        "a \"codec\" of \"room\" must not be finer than the one before it: " +
                            after.name + " takes " + bits_text(bits_after) + " bits per value, " +
                            before.name + " only " + bits_text(bits_before) + ".");
  }
  // Of a full page, with all metadata; 0: it has none of this size.
  static double bits_of(const CodecPair& codec, std::size_t head_dim) {
    const auto layout = kernels::page_layout(
        {.head_dim = head_dim,
         .k = codec.k->operand(Codec::Operand::k, head_dim, kernels::kPageTokens),
         .v = codec.v->operand(Codec::Operand::v, head_dim, kernels::kPageTokens)});
    if (!layout.ok()) return 0;
    return static_cast<double>(8 * layout->bytes) /
           static_cast<double>(2 * kernels::kPageTokens * head_dim);
  }
  static std::string bits_text(double bits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", bits);
    return text;
  }
  Result<void> codec(const JsonNode& at, std::vector<CodecPair>& codecs) const {
    const JsonNode* k_node = at.find("k");
    const JsonNode* v_node = at.find("v");
    if (k_node == nullptr || v_node == nullptr || at.members.size() != 2)
      return recipe_error(called_, at.line, "\"codec\" must be { \"k\": …, \"v\": … }.");
    CodecPair pair;
    SATCHEL_TRY_ASSIGN(pair.k, make_one<Codec>(StageKind::codec, *k_node, called_));
    SATCHEL_TRY_ASSIGN(pair.v, make_one<Codec>(StageKind::codec, *v_node, called_));
    pair.name = name_of(*k_node);
    if (const std::string v_name = name_of(*v_node); v_name != pair.name)
      pair.name += " / " + v_name;
    codecs.push_back(std::move(pair));
    return {};
  }

  const JsonNode& recipe_;
  std::string_view called_;
};

Result<double> read_keep(const JsonNode& recipe, const Trigger& trigger, std::string_view called) {
  const JsonNode* node = recipe.find("keep");
  if (node == nullptr) return 1.0;
  const bool fits = node->kind == JsonNode::Kind::number && node->number > 0 && node->number <= 1;
  if (!fits)
    return recipe_error(called, node->line,
                        "\"keep\" must be above 0 and at most 1, but is " + json_text(*node) + ".");
  if (!trigger.ever_fires() && node->number != 1)
    return recipe_error(
        called, node->line,
        "\"keep\" must be 1, because this recipe never evicts, but is " + json_text(*node) + ".");
  return node->number;
}

// `longest` too where the recipe does not say.
Result<std::size_t> read_tail(const JsonNode& recipe, std::string_view key, std::size_t longest,
                              std::string_view called) {
  const JsonNode* node = recipe.find(key);
  if (node == nullptr) return longest;
  const bool fits = node->kind == JsonNode::Kind::number && node->number >= kTailMin &&
                    node->number <= static_cast<double>(longest) &&
                    node->number == static_cast<double>(static_cast<std::size_t>(node->number));
  if (!fits)
    return recipe_error(called, node->line,
                        "\"" + std::string(key) + "\" must be a whole number from " +
                            std::to_string(kTailMin) + " to " + std::to_string(longest) +
                            ", but is " + json_text(*node) + ".");
  return static_cast<std::size_t>(node->number);
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
  SATCHEL_TRY_ASSIGN(made.tail_, read_tail(recipe, "tail", kTailTokens, called));
  SATCHEL_TRY_ASSIGN(made.short_tail_, read_tail(recipe, "short_tail", made.tail_, called));
  SATCHEL_TRY(maker.codecs(made.codecs_));
  made.n_own_codecs_ = made.codecs_.size();
  SATCHEL_TRY(maker.reclaim_steps(made.codecs_, made.reclaim_steps_));
  SATCHEL_TRY(maker.one(StageKind::reader, made.reader_));
  if (made.trigger_->ever_fires()) SATCHEL_TRY(maker.one(StageKind::scorer, made.scorer_));
  SATCHEL_TRY(made.check_reclaim_steps(recipe, called));
  if (!made.trigger_->ever_fires()) return made;
  SATCHEL_TRY(maker.filters(made.filters_));
  SATCHEL_TRY(maker.one(StageKind::allocator, made.allocator_));
  SATCHEL_TRY(maker.one(StageKind::assigner, made.assigner_));
  SATCHEL_TRY(maker.one(StageKind::merger, made.merger_));
  SATCHEL_TRY_ASSIGN(const JsonNode* filter, maker.node("filter"));
  SATCHEL_TRY(made.check_protection(called, filter->line));
  SATCHEL_TRY(made.check_weights(called, filter->line));
  SATCHEL_TRY_ASSIGN(const JsonNode* merger, maker.node("merger"));
  // With the model's head budgets such an allocator knows what each lane keeps beforehand.
  const bool in_layer = made.decides_in_layer() ||
                        (made.decides() && made.decides_when_read() && made.needs_head_budgets());
  if (made.merger_->merges() && made.decides() && !in_layer)
    return recipe_error(
        called, merger->line,
        "a merger needs exact K and V, so a recipe that merges must decide layer by "
        "layer during prefill: its trigger must fire then, and its allocator must "
        "not compare tokens of different layers.");
  SATCHEL_TRY_ASSIGN(const JsonNode* scorer, maker.node("scorer"));
  const ScorerRequirements requirements = made.requirements(nullptr);
  if (requirements.exact_kv && (!made.decides_in_layer() || requirements.decoding))
    return recipe_error(
        called, scorer->line,
        "this scorer needs exact K and V, so its recipe must decide layer by layer during "
        "prefill, and only then.");
  return made;
}

// A merger changes values and not the keys that find them.
Result<void> Pipeline::check(const CacheShape& shape) const {
  if (decides() && merger_->merges() && shape.has_latent_lanes())
    return Error{ErrorKind::unsupported, "RECIPE_LATENT",
                 "This recipe changes values apart from keys, but this model caches one latent "
                 "vector that is both. Use a recipe without a merger, such as \"satchel\"."};
  if (!trigger_->ever_fires()) return {};
  SATCHEL_TRY(scorer_->check(shape));
  return merger_->check(shape);
}

Result<void> Pipeline::check_reclaim_steps(const JsonNode& recipe, std::string_view called) const {
  const bool evicts = std::any_of(reclaim_steps_.begin(), reclaim_steps_.end(),
                                  [](const ReclaimStep& step) { return step.evicts(); });
  if (!evicts || (scorer_ != nullptr && scorer_->scores_held())) return {};
  return recipe_error(called, recipe.find("room")->line,
                      "\"share\" needs a recipe that evicts, with a scorer that can score tokens "
                      "long after their prefill.");
}

// Sinks and tail are exact parts of every lane: a selection that drops them has no meaning here.
Result<void> Pipeline::check_protection(std::string_view called, std::size_t line) const {
  // A span so short that no share of it stands in for the tail.
  const TokenSpan span{.n_layers = 1, .n_lanes = 1, .n_tokens = kSinkTokens + tail_, .keep = keep_};
  const Filter::Protected kept = protects(span);
  if (kept.first >= kSinkTokens && kept.last >= short_tail_) return {};
  return recipe_error(called, line,
                      "\"filter\" must protect at least " + std::to_string(kSinkTokens) +
                          " sinks and a tail of " + std::to_string(short_tail_) + ".");
}

bool Pipeline::decides_in_layer() const {
  return allocator_->scope() == Allocator::Scope::layer && decides_when_read();
}

bool Pipeline::decides_when_read() const {
  return !requirements(nullptr).probe &&
         trigger_->fires(TriggerEvent::span_read, std::numeric_limits<std::size_t>::max());
}

// Ids are known while a text is prefilled, and not later.
Result<void> Pipeline::check_weights(std::string_view called, std::size_t line) const {
  const ScorerRequirements wants = scorer_->requirements(nullptr);
  if (!weighs() || (wants.prefill && !wants.probe && !wants.decoding)) return {};
  return recipe_error(
      called, line,
      "the filter \"repeats\" needs a scorer that scores while a text is prefilled, "
      "and only then.");
}

Filter::Protected Pipeline::protects(const TokenSpan& span) const {
  Filter::Protected kept;
  for (const auto& filter : filters_) {
    const Filter::Protected more = filter->protects(span);
    kept.first = std::max(kept.first, more.first);
    kept.last = std::max(kept.last, more.last);
  }
  return kept;
}

std::size_t Pipeline::n_protected(const TokenSpan& span) const {
  const Filter::Protected kept = protects(span);
  return std::min(span.n_tokens, kept.first + kept.last);
}

bool Pipeline::weighs() const {
  return std::ranges::any_of(filters_, [](const auto& filter) { return filter->weighs(); });
}

float Pipeline::weight(std::size_t n_said) const {
  float weight = 1;
  for (const auto& filter : filters_)
    if (filter->weighs()) weight *= filter->weight(n_said);
  return weight;
}

void Pipeline::filter(const TokenSpan& span, std::span<float> scores) const {
  const Filter::Protected kept = protects(span);
  const auto keep_all = [](std::span<float> part) {
    for (float& score : part)
      if (score != kNotThere) score = kNeverEvict;
  };
  keep_all(scores.first(std::min(scores.size(), kept.first)));
  keep_all(scores.last(std::min(scores.size(), kept.last)));
  for (const auto& filter : filters_) filter->apply(span, scores);
}

}  // namespace satchel::kvcache
