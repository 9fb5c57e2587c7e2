#include "runtime/grammar/json_excess.h"

#include <vector>

namespace satchel::runtime {

const char* json_excess(std::string_view text) {
  std::vector<std::size_t> n_names;  // of each object that is open; a list has none
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '{' || c == '[')) {
      if (n_names.size() >= kJsonDepthMax) return "is nested too deeply.";
      n_names.push_back(0);
    } else if (!in_text && (c == '}' || c == ']') && !n_names.empty()) {
      n_names.pop_back();
    } else if (!in_text && c == ':' && !n_names.empty() && ++n_names.back() > kJsonNamesMax) {
      return "has an object with too many names.";
    }
  }
  return nullptr;
}

}  // namespace satchel::runtime
