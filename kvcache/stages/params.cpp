#include "kvcache/stages/params.h"

#include <algorithm>
#include <cmath>

namespace satchel::kvcache {
namespace {

std::string plain(double value) {
  JsonNode node{.kind = JsonNode::Kind::number};
  node.number = value;
  return canonical_json(node);
}

bool is_count(const JsonNode& node) {
  return node.kind == JsonNode::Kind::number && node.number >= 0 && node.number < 1e15 &&
         node.number == std::floor(node.number);
}

}  // namespace

Result<std::size_t> Params::count(std::string_view key, CountRange range) {
  const JsonNode* node = take(key);
  if (node == nullptr) return range.fallback;
  const bool fits = is_count(*node) && node->number >= static_cast<double>(range.min) &&
                    node->number <= static_cast<double>(range.max);
  if (!fits)
    return wrong(
        key, *node,
        "a whole number from " + std::to_string(range.min) + " to " + std::to_string(range.max));
  return static_cast<std::size_t>(node->number);
}

Result<std::size_t> Params::one_of(std::string_view key, std::size_t fallback,
                                   std::initializer_list<std::size_t> allowed) {
  const JsonNode* node = take(key);
  if (node == nullptr) return fallback;
  std::string text;
  for (const std::size_t* value = allowed.begin(); value != allowed.end(); ++value) {
    if (is_count(*node) && node->number == static_cast<double>(*value)) return *value;
    if (value != allowed.begin()) text += value + 1 == allowed.end() ? " or " : ", ";
    text += std::to_string(*value);
  }
  return wrong(key, *node, text);
}

Result<double> Params::number(std::string_view key, NumberRange range) {
  const JsonNode* node = take(key);
  if (node == nullptr) return range.fallback;
  const bool fits = node->kind == JsonNode::Kind::number && node->number >= range.min &&
                    node->number <= range.max;
  if (!fits)
    return wrong(key, *node, "a number from " + plain(range.min) + " to " + plain(range.max));
  return node->number;
}

Result<bool> Params::flag(std::string_view key, bool fallback) {
  const JsonNode* node = take(key);
  if (node == nullptr) return fallback;
  if (node->kind != JsonNode::Kind::boolean) return wrong(key, *node, "true or false");
  return node->boolean;
}

Result<void> Params::check_all_known() const {
  for (const auto& [name, node] : node_.members)
    if (!known_.contains(name))
      return recipe_error(called_, node.line, "\"" + name + "\" is not known here.");
  return {};
}

const JsonNode* Params::take(std::string_view key) {
  known_.emplace(key);
  return node_.find(key);
}

Error Params::wrong(std::string_view key, const JsonNode& node, const std::string& allowed) const {
  return recipe_error(
      called_, node.line,
      "\"" + std::string(key) + "\" must be " + allowed + ", is " + json_text(node) + ".");
}

}  // namespace satchel::kvcache
