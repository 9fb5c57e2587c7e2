#include "kvcache/base/json.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

namespace satchel::kvcache {
namespace {

using Json = nlohmann::json;

// Walks the text and counts the lines the parser has consumed.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  std::size_t* line_;
};

// Receives the parser's events and builds the tree; a value takes the line of its key, because the
// parser looks one character past a number.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(std::string_view called, const std::size_t* line) : called_(called), line_(line) {}

  bool null() override { return put({}); }
  bool boolean(bool value) override {
    JsonNode node{.kind = JsonNode::Kind::boolean};
    node.boolean = value;
    return put(std::move(node));
  }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& value) override {
    JsonNode node{.kind = JsonNode::Kind::string};
    node.string = value;
    return put(std::move(node));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonNode::Kind::object); }
  bool start_array(std::size_t) override { return open(JsonNode::Kind::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (open_.back().find(value) != nullptr) return fail("\"" + value + "\" occurs twice");
    open_.back().members.emplace_back(value, JsonNode{});
    open_.back().members.back().second.line = *line_;
    return true;
  }
  bool parse_error(std::size_t, const std::string& last_token, const Json::exception&) override {
    return fail("invalid JSON near \"" + last_token.substr(0, 40) + "\"");
  }

  JsonNode root;
  Error error;

 private:
  bool fail(const std::string& what) {
    error = recipe_error(called_, *line_, what + ".");
    return false;
  }
  bool number(double value) {
    JsonNode node{.kind = JsonNode::Kind::number};
    node.number = value;
    return put(std::move(node));
  }
  bool open(JsonNode::Kind kind) {
    if (open_.size() >= kJsonDepthMax)
      return fail("nested deeper than " + std::to_string(kJsonDepthMax));
    JsonNode node{.kind = kind};
    node.line = *line_;
    open_.push_back(std::move(node));
    return true;
  }
  bool close() {
    JsonNode node = std::move(open_.back());
    open_.pop_back();
    return put(std::move(node));
  }
  bool put(JsonNode node) {
    if (open_.empty()) {
      root = std::move(node);
      return true;
    }
    JsonNode& parent = open_.back();
    if (parent.kind == JsonNode::Kind::object) {
      node.line = parent.members.back().second.line;
      parent.members.back().second = std::move(node);
    } else {
      if (node.kind != JsonNode::Kind::object && node.kind != JsonNode::Kind::array)
        node.line = *line_;
      parent.items.push_back(std::move(node));
    }
    return true;
  }

  std::string_view called_;
  const std::size_t* line_;
  std::vector<JsonNode> open_;
};

std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15)
    return Json(static_cast<std::int64_t>(value)).dump();
  return Json(value).dump();
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  for (const auto& [name, node] : members)
    if (name == key) return &node;
  return nullptr;
}

JsonNode* JsonNode::find(std::string_view key) {
  return const_cast<JsonNode*>(std::as_const(*this).find(key));
}

Result<JsonNode> parse_json(std::string_view text, std::string_view called, std::size_t bytes_max) {
  if (text.size() > bytes_max)
    return recipe_error(called, 1,
                        "the file has " + std::to_string(text.size()) + " bytes; at most " +
                            std::to_string(bytes_max >> 10) + " KiB are allowed.");
  std::size_t line = 1;
  TreeBuilder builder(called, &line);
  const bool ok = Json::sax_parse(CountingIterator(text.data(), &line),
                                  CountingIterator(text.data() + text.size(), &line), &builder);
  if (!ok) return std::move(builder.error);
  return std::move(builder.root);
}

std::string canonical_json(const JsonNode& node) {
  switch (node.kind) {
    case JsonNode::Kind::null:
      return "null";
    case JsonNode::Kind::boolean:
      return node.boolean ? "true" : "false";
    case JsonNode::Kind::number:
      return number_text(node.number);
    case JsonNode::Kind::string:
      return Json(node.string).dump();
    case JsonNode::Kind::array: {
      std::string text = "[";
      for (const JsonNode& item : node.items)
        text += (text.size() > 1 ? "," : "") + canonical_json(item);
      return text + "]";
    }
    case JsonNode::Kind::object:
      break;
  }
  std::vector<std::string> rows;
  for (const auto& [name, member] : node.members)
    rows.push_back(Json(name).dump() + ":" + canonical_json(member));
  std::sort(rows.begin(), rows.end());
  std::string text = "{";
  for (const std::string& row : rows) text += (text.size() > 1 ? "," : "") + row;
  return text + "}";
}

std::string json_text(const JsonNode& node) {
  if (node.kind == JsonNode::Kind::object) return "an object";
  if (node.kind == JsonNode::Kind::array) return "a list";
  return canonical_json(node);
}

Error recipe_error(std::string_view called, std::size_t line, const std::string& what) {
  return Error{ErrorKind::invalid, "RECIPE",
               std::string(called) + " line " + std::to_string(line) + ": " + what};
}

}  // namespace satchel::kvcache
