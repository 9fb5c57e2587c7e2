#include "kvcache/recipes/recipe.h"

#include <array>
#include <span>

#include "kvcache/base/hash.h"
#include "kvcache/base/json.h"
#include "kvcache/recipes/pipeline.h"
#include "kvcache/stages/registry.h"

namespace satchel::kvcache {
namespace {

constexpr double kRecipeVersion = 1;
constexpr int kRoundedBitsMost = 8;  // of a number that a codec rounds

Result<std::string> read_text(const JsonNode& root, std::string_view key, std::string_view called) {
  const JsonNode* node = root.find(key);
  if (node == nullptr)
    return recipe_error(called, root.line, "\"" + std::string(key) + "\" is missing.");
  if (node->kind != JsonNode::Kind::string)
    return recipe_error(
        called, node->line,
        "\"" + std::string(key) + "\" must be a string, but is " + json_text(*node) + ".");
  return node->string;
}

Result<void> check_keys(const JsonNode& root, std::string_view called) {
  static constexpr std::array<std::string_view, 16> kKnown = {
      "recipe", "name",   "source",    "differs",  "keep",   "tail",  "short_tail", "trigger",
      "scorer", "filter", "allocator", "assigner", "merger", "codec", "reader",     "room"};
  for (const auto& [name, node] : root.members) {
    bool known = false;
    for (const std::string_view key : kKnown) known = known || key == name;
    if (known) continue;
    std::string keys;
    for (const std::string_view key : kKnown) keys += (keys.empty() ? "" : ", ") + std::string(key);
    return recipe_error(called, node.line,
                        "unknown key \"" + name + "\". Known keys: " + keys + ".");
  }
  const JsonNode* version = root.find("recipe");
  if (version == nullptr || version->kind != JsonNode::Kind::number ||
      version->number != kRecipeVersion)
    return recipe_error(called, version == nullptr ? root.line : version->line,
                        "\"recipe\" must be 1, the version of this format.");
  return {};
}

void set_keep(JsonNode& root, double keep) {
  JsonNode* node = root.find("keep");
  if (node == nullptr) node = &root.members.emplace_back("keep", JsonNode{}).second;
  node->kind = JsonNode::Kind::number;
  node->number = keep;
}

// of: a codec of K or V, by name or with parameters
void raise_bits(JsonNode& of, std::size_t bits) {
  const JsonNode* const use = of.kind == JsonNode::Kind::string ? &of : of.find("use");
  if (bits == 0 || use == nullptr || use->string == "exact") return;
  const JsonNode* const has = of.find("bits");
  if (has != nullptr && has->number >= static_cast<double>(bits)) return;
  if (bits > kRoundedBitsMost) {
    of = {.kind = JsonNode::Kind::string, .line = of.line, .string = "exact"};
    return;
  }
  const JsonNode klt{.kind = JsonNode::Kind::string, .string = "klt"};
  const JsonNode most{.kind = JsonNode::Kind::number, .number = double{kRoundedBitsMost}};
  of = {.kind = JsonNode::Kind::object, .line = of.line};
  of.members = {{"use", klt}, {"bits", most}};
}

void raise_codec(JsonNode& codec, std::size_t k_bits, std::size_t v_bits) {
  if (JsonNode* k = codec.find("k")) raise_bits(*k, k_bits);
  if (JsonNode* v = codec.find("v")) raise_bits(*v, v_bits);
}

// Steps whose codec is the one before are no longer about a codec.
void raise_steps(JsonNode& steps, std::string codec, std::size_t k_bits, std::size_t v_bits) {
  for (JsonNode& step : steps.items) {
    JsonNode* const lower = step.find("codec");
    if (lower == nullptr) continue;
    raise_codec(*lower, k_bits, v_bits);
    const std::string now = canonical_json(*lower);
    if (now == codec)
      std::erase_if(step.members, [](const auto& member) { return member.first == "codec"; });
    codec = now;
  }
  std::erase_if(steps.items, [](const JsonNode& step) { return step.members.empty(); });
}

}  // namespace

Result<Recipe> Recipe::parse(std::string_view json, std::string_view called) {
  SATCHEL_TRY_ASSIGN(const JsonNode root, parse_json(json, called));
  if (root.kind != JsonNode::Kind::object)
    return recipe_error(called, root.line, "a recipe must be an object: { \"recipe\": 1, … }.");
  SATCHEL_TRY(check_keys(root, called));
  Recipe recipe;
  SATCHEL_TRY_ASSIGN(recipe.name_, read_text(root, "name", called));
  SATCHEL_TRY_ASSIGN(recipe.source_, read_text(root, "source", called));
  SATCHEL_TRY_ASSIGN(recipe.differs_, read_text(root, "differs", called));
  SATCHEL_TRY_ASSIGN(Pipeline pipeline, Pipeline::make(root, called));
  recipe.keep_ = pipeline.keep();
  recipe.pipeline_ = std::make_shared<const Pipeline>(std::move(pipeline));
  recipe.json_ = canonical_json(root);
  recipe.hash_ = to_hex(hash_bytes(std::as_bytes(std::span(recipe.json_))));
  return recipe;
}

Result<Recipe> Recipe::builtin(std::string_view name) {
  std::string known;
  for (const BuiltinRecipe& recipe : builtin_recipes()) {
    if (recipe.name == name) return parse(recipe.json, std::string(name) + ".json");
    known += (known.empty() ? "" : ", ") + std::string(recipe.name);
  }
  return Error{ErrorKind::not_found, "RECIPE",
               "There is no recipe \"" + std::string(name) + "\". Choose one of: " + known + "."};
}

Result<Recipe> Recipe::with_keep(double keep) const {
  if (keep != 1 && !pipeline().may_evict())
    return Error{ErrorKind::invalid, "RECIPE",
                 "Recipe \"" + name_ + "\" keeps every token; it takes no other share."};
  SATCHEL_TRY_ASSIGN(JsonNode root, parse_json(json_, name_));
  set_keep(root, keep);
  return parse(canonical_json(root), name_);
}

Result<Recipe> Recipe::with_bits_from(std::size_t k_bits, std::size_t v_bits) const {
  SATCHEL_TRY_ASSIGN(JsonNode root, parse_json(json_, name_));
  JsonNode* const codec = root.find("codec");
  if (codec == nullptr) return *this;
  raise_codec(*codec, k_bits, v_bits);
  if (JsonNode* steps = root.find("room")) {
    raise_steps(*steps, canonical_json(*codec), k_bits, v_bits);
    if (steps->items.empty())
      std::erase_if(root.members, [](const auto& member) { return member.first == "room"; });
  }
  return parse(canonical_json(root), name_);
}

Result<Recipe> Recipe::at_floor() const {
  SATCHEL_TRY_ASSIGN(JsonNode root, parse_json(json_, name_));
  const JsonNode* reclaim = root.find("room");
  if (reclaim == nullptr) return *this;
  const JsonNode steps = *reclaim;
  std::erase_if(root.members, [](const auto& member) { return member.first == "room"; });
  for (const JsonNode& step : steps.items) {
    if (const JsonNode* codec = step.find("codec"); codec != nullptr) *root.find("codec") = *codec;
    const JsonNode* share = step.find("share");
    if (share != nullptr) set_keep(root, keep_ * share->number);
  }
  return parse(canonical_json(root), name_);
}

}  // namespace satchel::kvcache
