#include "app/model_files/url.h"

#include <algorithm>
#include <cctype>

namespace satchel::app {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_code = text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 &&
                         digit_of(text[i + 2]) >= 0;
    if (!is_code) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
    i += 2;
  }
  return out;
}

// Of "host:port", "[v6]:port" or "host".
std::string host_of(std::string_view authority) {
  if (authority.starts_with('[')) return std::string(authority.substr(1, authority.find(']') - 1));
  return std::string(authority.substr(0, authority.find(':')));
}

Error no_address(std::string_view text) {
  return {ErrorKind::invalid, "PARAM",
          "\"" + std::string(text.substr(0, 200)) +
              "\" is no address of a file. It must begin with https:// and name a host."};
}

}  // namespace

bool Url::is_here() const {
  // Not by the first digits alone: a name may begin with them.
  const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || (is_number && host.starts_with("127."));
}

Result<Url> parse_url(std::string_view text) {
  const bool is_printable = std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) > ' ' && static_cast<unsigned char>(c) < 0x7f;
  });
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.is_secure = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return no_address(text);
  }
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  url.host = host_of(authority);
  // A user's name would be sent, and hides the host from who reads the address.
  if (!is_printable || url.host.empty() || authority.find('@') != std::string_view::npos)
    return no_address(text);
  url.origin = std::string(text.substr(0, text.size() - rest.size())) + std::string(authority);
  url.target = rest.substr(end, rest.find('#') - end);
  if (!url.target.starts_with('/')) url.target = "/" + url.target;
  return url;
}

Result<Url> redirected(const Url& from, std::string_view location) {
  if (location.starts_with("//"))
    return parse_url((from.is_secure ? "https:" : "http:") + std::string(location));
  if (location.starts_with('/')) return parse_url(from.origin + std::string(location));
  return parse_url(location);
}

std::string file_name_of(const Url& url) {
  const std::string_view path = std::string_view(url.target).substr(0, url.target.find('?'));
  const std::string name = decoded(path.substr(path.rfind('/') + 1));
  const bool is_name = !name.empty() && name.front() != '.' && name.size() <= 200 &&
                       std::ranges::none_of(name, [](char c) {
                         return c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ';
                       });
  return is_name ? name : "";
}

}  // namespace satchel::app
