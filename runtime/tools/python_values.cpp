#include "runtime/tools/python_values.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/grammar/json_excess.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;

constexpr std::array<std::pair<char, char>, 8> kEscapes = {{{'n', '\n'},
                                                            {'r', '\r'},
                                                            {'t', '\t'},
                                                            {'b', '\b'},
                                                            {'f', '\f'},
                                                            {'\\', '\\'},
                                                            {'\'', '\''},
                                                            {'"', '"'}}};

class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  bool calls(std::vector<ToolCall>& out) {
    if (!take('[')) return false;
    do {
      ToolCall call{.id = {}, .name = name(), .arguments = {}};
      Json arguments = Json::object();
      if (call.name.empty() || !take('(') || !named(arguments)) return false;
      call.arguments = compact_json(arguments);
      out.push_back(std::move(call));
    } while (take(','));
    return take(']') && at_end();
  }

 private:
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(kSpace), text_.size())); }
  bool take(char c) {
    skip();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip();
    return text_.empty();
  }

  std::string name() {
    skip();
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '.';
    };
    const auto end = std::ranges::find_if_not(text_, is_part);
    std::string out(text_.begin(), end);
    text_.remove_prefix(out.size());
    return out;
  }

  // Up to ")".
  bool named(Json& arguments) {
    if (take(')')) return true;
    do {
      const std::string key = name();
      Json one;
      if (key.empty() || !take('=') || !value(one, 0)) return false;
      arguments[key] = std::move(one);
    } while (take(','));
    return take(')');
  }

  bool value(Json& out, std::size_t depth) {
    skip();
    if (text_.empty() || depth > kJsonDepthMax) return false;
    const char c = text_.front();
    if (c == '"' || c == '\'') return string(out);
    if (c == '[') return list(out, depth);
    if (c == '{') return object(out, depth);
    return word(out);
  }

  bool list(Json& out, std::size_t depth) {
    out = Json::array();
    take('[');
    if (take(']')) return true;
    do {
      if (!value(out.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool object(Json& out, std::size_t depth) {
    out = Json::object();
    take('{');
    if (take('}')) return true;
    do {
      Json key;
      skip();
      if (!string(key) || !take(':') || !value(out[key.get<std::string>()], depth + 1))
        return false;
    } while (take(','));
    return take('}');
  }

  bool word(Json& out) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {
        {{"True", "true"},
         {"False", "false"},
         {"None", "null"},
         {"true", "true"},
         {"false", "false"},
         {"null", "null"}}};
    const std::size_t n = std::min(text_.find_first_of(",)]} \t\r\n"), text_.size());
    std::string_view said = text_.substr(0, n);
    text_.remove_prefix(n);
    for (const auto& [python, json] : kWords)
      if (said == python) {
        out = Json::parse(json);
        return true;
      }
    out = Json::parse(said, nullptr, false);
    return out.is_number();
  }

  bool string(Json& out) {
    if (text_.empty()) return false;
    const char quote = text_.front();
    if (quote != '"' && quote != '\'') return false;
    text_.remove_prefix(1);
    std::string said;
    while (!text_.empty() && text_.front() != quote) {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c != '\\')
        said += c;
      else if (!escape(said))
        return false;
    }
    out = std::move(said);
    return take(quote);
  }

  bool escape(std::string& said) {
    if (text_.empty()) return false;
    const char c = text_.front();
    if (c == 'u') return code(said);
    text_.remove_prefix(1);
    const auto known = std::ranges::find(kEscapes, c, &std::pair<char, char>::first);
    if (known != kEscapes.end())
      said += known->second;
    else if (c == '/')
      said += c;
    else
      (said += '\\') += c;  // as Python has it
    return true;
  }

  // Also two halves of a pair: JSON's own reader puts them together.
  bool code(std::string& said) {
    std::string all;
    while (text_.starts_with("u") && text_.size() >= 5) {
      all += "\\" + std::string(text_.substr(0, 5));
      text_.remove_prefix(5);
      if (!text_.starts_with("\\u")) break;
      text_.remove_prefix(1);
    }
    const Json read = Json::parse("\"" + all + "\"", nullptr, false);
    if (!read.is_string() || all.empty()) return false;
    said += read.get<std::string>();
    return true;
  }

  std::string_view text_;
};

}  // namespace

std::string python_literal(const OrderedJson& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (value.is_string()) {
    std::string out = "'";
    for (const char c : value.get_ref<const std::string&>()) {
      const auto known = std::ranges::find(kEscapes, c, &std::pair<char, char>::second);
      if (known != kEscapes.end() && c != '"')
        (out += '\\') += known->first;
      else
        out += c;
    }
    return out + "'";
  }
  if (!value.is_array()) return spaced_json(value);
  std::string out = "[";
  for (const Json& one : value) out += (out.size() > 1 ? ", " : "") + python_literal(one);
  return out + "]";
}

bool read_python_calls(std::string_view text, std::vector<ToolCall>& calls) {
  std::vector<ToolCall> read;
  if (!PythonReader(text).calls(read)) return false;
  for (ToolCall& call : read) calls.push_back(std::move(call));
  return true;
}

}  // namespace satchel::runtime
