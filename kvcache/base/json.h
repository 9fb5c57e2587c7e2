// A small JSON tree with the line of each value, so that messages about a recipe can name the
// place. Checks size, depth, duplicate keys and encoding, because the bytes are untrusted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

inline constexpr std::size_t kRecipeBytesMax =
    64u << 10;  // chosen: forty times the longest one built in
inline constexpr std::size_t kJsonDepthMax = 64;

struct JsonNode {
  enum class Kind { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  std::size_t line = 1;  // of its key, or of its beginning
  bool boolean = false;
  double number = 0;
  std::string string = {};
  std::vector<JsonNode> items = {};
  std::vector<std::pair<std::string, JsonNode>> members = {};

  const JsonNode* find(std::string_view key) const;  // objects only; null if absent
  JsonNode* find(std::string_view key);
};

// Messages begin with `called`. Fails with invalid, RECIPE.
Result<JsonNode> parse_json(std::string_view text, std::string_view called,
                            std::size_t bytes_max = kRecipeBytesMax);
// Sorted keys, no white space, whole numbers without a decimal point.
std::string canonical_json(const JsonNode& node);
// The value as shown in messages: 5, "two", an object.
std::string json_text(const JsonNode& node);
// `<called> line <n>: <what>`
Error recipe_error(std::string_view called, std::size_t line, const std::string& what);

}  // namespace satchel::kvcache
