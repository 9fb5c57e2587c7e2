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

Result<std::size_t> Params::count(std::string_view key, Range<std::size_t> range) {
  const JsonNode* node =
      take(key, std::to_string(range.fallback),
           "a whole number from " + std::to_string(range.min) + " to " + std::to_string(range.max));
  if (node == nullptr) return range.fallback;
  const bool fits = is_count(*node) && node->number >= static_cast<double>(range.min) &&
                    node->number <= static_cast<double>(range.max);
  if (!fits) return wrong(*node);
  return static_cast<std::size_t>(node->number);
}

Result<std::size_t> Params::one_of(std::string_view key, std::size_t fallback,
                                   std::initializer_list<std::size_t> allowed) {
  std::string text;
  for (const std::size_t* value = allowed.begin(); value != allowed.end(); ++value) {
    if (value != allowed.begin()) text += value + 1 == allowed.end() ? " or " : ", ";
    text += std::to_string(*value);
  }
  const JsonNode* node = take(key, std::to_string(fallback), std::move(text));
  if (node == nullptr) return fallback;
  for (const std::size_t value : allowed)
    if (is_count(*node) && node->number == static_cast<double>(value)) return value;
  return wrong(*node);
}

Result<double> Params::number(std::string_view key, Range<double> range) {
  const JsonNode* node = take(key, plain(range.fallback),
                              "a number from " + plain(range.min) + " to " + plain(range.max));
  if (node == nullptr) return range.fallback;
  const bool fits = node->kind == JsonNode::Kind::number && node->number >= range.min &&
                    node->number <= range.max;
  if (!fits) return wrong(*node);
  return node->number;
}

Result<bool> Params::flag(std::string_view key, bool fallback) {
  const JsonNode* node = take(key, fallback ? "true" : "false", "true or false");
  if (node == nullptr) return fallback;
  if (node->kind != JsonNode::Kind::boolean) return wrong(*node);
  return node->boolean;
}

Result<void> Params::check_all_known() const {
  for (const auto& [name, node] : node_.members) {
    const std::string& key = name;
    const bool is_known = key == "use" || std::any_of(asked_.begin(), asked_.end(),
                                                      [&](const Asked& a) { return a.key == key; });
    if (is_known) continue;
    std::string known;
    for (const Asked& asked : asked_) known += (known.empty() ? "" : ", ") + asked.key;
    return recipe_error(called_, node.line,
                        "unknown parameter \"" + name + "\". " +
                            (known.empty() ? "There are none here." : "Known: " + known + "."));
  }
  return {};
}

const JsonNode* Params::take(std::string_view key, std::string fallback, std::string allowed) {
  asked_.push_back(
      {.key = std::string(key), .fallback = std::move(fallback), .allowed = std::move(allowed)});
  return node_.find(key);
}

Error Params::wrong(const JsonNode& node) const {
  const Asked& asked = asked_.back();
  return recipe_error(
      called_, node.line,
      "\"" + asked.key + "\" must be " + asked.allowed + ", but is " + json_text(node) + ".");
}

}  // namespace satchel::kvcache
