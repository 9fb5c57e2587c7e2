#include "runtime/tools/gemma_values.h"

#include <algorithm>
#include <utility>

#include "runtime/grammar/json_excess.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

class GemmaReader {
 public:
  explicit GemmaReader(std::string_view text) : text_(text) {}

  bool call(ToolCall& out) {
    constexpr std::string_view kCall = "call:";
    if (!text_.starts_with(kCall)) return false;
    text_.remove_prefix(kCall.size());
    const std::size_t n = std::min(text_.find('{'), text_.size());
    out.name = text_.substr(0, n);
    text_.remove_prefix(n);
    Json arguments;
    if (out.name.empty() || !object(arguments, 0) || !trimmed(text_).empty()) return false;
    out.arguments = compact_json(arguments);
    return true;
  }

 private:
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(kSpace), text_.size())); }
  bool take(std::string_view what) {
    skip();
    if (!text_.starts_with(what)) return false;
    text_.remove_prefix(what.size());
    return true;
  }

  bool value(Json& out, std::size_t depth) {
    skip();
    if (text_.empty() || depth > kJsonDepthMax) return false;
    if (text_.starts_with(kGemmaQuote)) return string(out);
    if (text_.front() == '{') return object(out, depth);
    if (text_.front() == '[') return list(out, depth);
    const std::size_t n = std::min(text_.find_first_of(",]} \t\r\n"), text_.size());
    out = Json::parse(text_.substr(0, n), nullptr, false);
    text_.remove_prefix(n);
    return out.is_primitive() && !out.is_string() && !out.is_discarded();
  }

  bool string(Json& out) {
    if (!take(kGemmaQuote)) return false;
    const std::size_t n = text_.find(kGemmaQuote);
    if (n == std::string_view::npos) return false;
    out = std::string(text_.substr(0, n));
    text_.remove_prefix(n + kGemmaQuote.size());
    return true;
  }

  bool key(std::string& out) {
    skip();
    Json quoted;
    if (text_.starts_with(kGemmaQuote)) {
      if (!string(quoted)) return false;
      out = quoted.get<std::string>();
      return take(":");
    }
    const std::size_t n = text_.find(':');
    if (n == std::string_view::npos) return false;
    out = trimmed(text_.substr(0, n));
    text_.remove_prefix(n + 1);
    return true;
  }

  bool list(Json& out, std::size_t depth) {
    out = Json::array();
    take("[");
    if (take("]")) return true;
    do {
      if (!value(out.emplace_back(), depth + 1)) return false;
    } while (take(","));
    return take("]");
  }

  bool object(Json& out, std::size_t depth) {
    out = Json::object();
    if (!take("{")) return false;
    if (take("}")) return true;
    do {
      std::string name;
      if (!key(name) || !value(out[name], depth + 1)) return false;
    } while (take(","));
    return take("}");
  }

  std::string_view text_;
};

}  // namespace

std::vector<std::string> sorted_names(const OrderedJson& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  std::ranges::stable_sort(names, {}, lower);
  return names;
}

void add_gemma_value(const OrderedJson& value, GemmaKeys keys, MarkedText& out) {
  if (value.is_string()) {
    out.mark(kGemmaQuote).add(value.get<std::string>()).mark(kGemmaQuote);
  } else if (value.is_array()) {
    out.add("[");
    for (std::size_t i = 0; i < value.size(); ++i) {
      out.add(i == 0 ? "" : ",");
      add_gemma_value(value[i], keys, out);
    }
    out.add("]");
  } else if (value.is_object()) {
    bool is_first = true;
    out.add("{");
    for (const std::string& name : sorted_names(value)) {
      out.add(std::exchange(is_first, false) ? "" : ",");
      if (keys == GemmaKeys::quoted)
        add_gemma_value(name, keys, out);
      else
        out.add(name);
      out.add(":");
      add_gemma_value(value[name], keys, out);
    }
    out.add("}");
  } else {
    out.add(compact_json(value));
  }
}

bool read_gemma_call(std::string_view text, ToolCall& call) {
  return GemmaReader(text).call(call);
}

std::size_t end_behind_gemma(std::string_view text, std::string_view end) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '<') continue;
    const std::string_view rest = text.substr(i);
    if (rest.starts_with(kGemmaQuote))
      in_string = !in_string;
    else if (!in_string && rest.starts_with(end))
      return i + end.size();
  }
  return std::string_view::npos;
}

}  // namespace satchel::runtime
