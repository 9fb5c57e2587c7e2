#include "app/cli/recipe_text.h"

#include <algorithm>
#include <vector>

#include "app/cli/exit_codes.h"
#include "app/cli/text_table.h"
#include "kvcache/base/json.h"
#include "kvcache/recipes/pipeline.h"
#include "kvcache/stages/registry.h"
#include "runtime/limits/presets.h"

namespace satchel::app {
namespace {

using kvcache::JsonNode;
using kvcache::StageKind;

constexpr StageKind kKinds[] = {StageKind::trigger,   StageKind::scorer,   StageKind::filter,
                                StageKind::allocator, StageKind::assigner, StageKind::merger,
                                StageKind::codec,     StageKind::reader};

struct Parameter {
  kvcache::Params::Asked asked;
  std::string value;  // as JSON
  bool is_given = false;
};
struct StageText {
  StageKind kind;
  std::string place;  // "codec k": where it stands in the recipe
  std::string name, source;
  std::vector<Parameter> parameters;
};

// The recipe has been read before: all its stages are there, and their parameters right.
void add_stage(StageKind kind, const std::string& place, const JsonNode& node,
               std::vector<StageText>& out) {
  const JsonNode* use = node.kind == JsonNode::Kind::string ? &node : node.find("use");
  const kvcache::StageEntry* entry = kvcache::find_stage(kind, use->string);
  if (entry == nullptr) return;
  kvcache::Params params(node, place);
  (void)entry->make(params);  // asks for what it takes, whatever comes of it
  StageText& stage = out.emplace_back(StageText{.kind = kind,
                                                .place = place,
                                                .name = use->string,
                                                .source = std::string(entry->source),
                                                .parameters = {}});
  for (const kvcache::Params::Asked& asked : params.asked()) {
    const JsonNode* given = node.kind == JsonNode::Kind::object ? node.find(asked.key) : nullptr;
    stage.parameters.push_back({.asked = asked,
                                .value = given ? kvcache::json_text(*given) : asked.fallback,
                                .is_given = given != nullptr});
  }
}

// A stage, or a list or table of them, as filters and the codecs of tiers are.
void add_stages(StageKind kind, const std::string& place, const JsonNode& node,
                std::vector<StageText>& out) {
  const bool is_table = node.kind == JsonNode::Kind::object && node.find("use") == nullptr;
  if (node.kind == JsonNode::Kind::array) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      add_stages(kind, kind == StageKind::codec ? place + " " + std::to_string(i + 1) : place,
                 node.items[i], out);
  } else if (is_table) {
    for (const auto& [key, member] : node.members)
      if (key == "k" || key == "v") add_stages(kind, place + " " + key, member, out);
  } else if (node.kind == JsonNode::Kind::object || node.kind == JsonNode::Kind::string) {
    add_stage(kind, place, node, out);
  }
}

std::vector<StageText> stages_of(const JsonNode& recipe) {
  std::vector<StageText> out;
  for (const StageKind kind : kKinds) {
    const std::string key(to_text(kind));
    if (const JsonNode* node = recipe.find(key)) add_stages(kind, key, *node, out);
  }
  return out;
}

Json to_json(const kvcache::Recipe& recipe, const std::vector<StageText>& stages) {
  Json rows = Json::array();
  for (const StageText& stage : stages) {
    Json parameters = Json::array();
    for (const Parameter& each : stage.parameters)
      parameters.push_back({{"name", each.asked.key},
                            {"value", Json::parse(each.value, nullptr, false)},
                            {"given", each.is_given},
                            {"default", Json::parse(each.asked.fallback, nullptr, false)},
                            {"allowed", each.asked.allowed}});
    rows.push_back({{"kind", std::string(to_text(stage.kind))},
                    {"place", stage.place},
                    {"name", stage.name},
                    {"source", stage.source},
                    {"parameters", parameters}});
  }
  return Json{{"schema", 1},
              {"name", recipe.name()},
              {"source", recipe.source()},
              {"differs", recipe.differs()},
              {"keep", recipe.keep()},
              {"needs", needs_of(recipe)},
              {"stages", rows},
              {"recipe", Json::parse(recipe.json(), nullptr, false)}};
}

std::string to_text(const kvcache::Recipe& recipe, const std::vector<StageText>& stages,
                    const JsonNode* reclaim) {
  std::string text = recipe.name() + "\n  source     " + recipe.source() + "\n  keeps      " +
                     (recipe.keep() < 1 ? format_percent(recipe.keep()) + " of the tokens"
                                        : std::string("every token")) +
                     "\n  differs from the source\n" + wrapped(recipe.differs(), 4);
  if (const std::string needs = needs_of(recipe); !needs.empty())
    text += "  needs\n" + wrapped(needs, 4);
  text += "  stages\n";
  for (const StageText& stage : stages) {
    text += "    " + padded(stage.place, 12) + padded(stage.name, 22) + stage.source + "\n";
    for (const Parameter& each : stage.parameters)
      text += std::string(16, ' ') + padded(each.asked.key, 14) + padded(each.value, 8) +
              (each.is_given ? "" : "default; ") + each.asked.allowed + "\n";
  }
  text += "  when memory runs short\n";
  if (reclaim == nullptr) return text + "    nothing more can be dropped: Satchel asks you\n";
  for (std::size_t i = 0; i < reclaim->items.size(); ++i)
    text +=
        "    " + std::to_string(i + 1) + " " + kvcache::canonical_json(reclaim->items[i]) + "\n";
  return text;
}

}  // namespace

std::string needs_of(const kvcache::Recipe& recipe) {
  const Result<void> can = recipe.pipeline().check({});  // of a model of which nothing was learnt
  return can.ok() ? "" : can.error().message;
}

int explain_recipe(Console& console, const std::string& name) {
  const Result<kvcache::Recipe> recipe = runtime::resolve_recipe(name);
  if (!recipe.ok()) return console.fail(recipe.error());
  const Result<JsonNode> node = kvcache::parse_json(recipe->json(), recipe->name());
  if (!node.ok()) return console.fail(node.error());
  const std::vector<StageText> stages = stages_of(*node);
  if (console.json()) {
    console.document(to_json(*recipe, stages));
  } else {
    console.data(to_text(*recipe, stages, node->find("room")));
  }
  return kExitOk;
}

}  // namespace satchel::app
