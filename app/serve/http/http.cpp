#include "app/serve/http/http.h"

#include <algorithm>
#include <cctype>

namespace satchel::serve {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (same_name(key, name)) return value;
  return std::nullopt;
}

std::size_t HttpRequest::n_headers(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [&](const auto& header) { return same_name(header.first, name); }));
}

}  // namespace satchel::serve
