#include "app/serve/guard.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace satchel::serve {
namespace {

constexpr std::size_t kTokenBytesMin = 16, kTokenBytesMax = 4096;  // chosen

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_address(const std::string& text) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

// "[::1]:8080" -> "::1", 8080. A port that is not said is 80.
struct HostPort {
  std::string host;
  int port = 80;
};
std::optional<HostPort> split(std::string_view text) {
  HostPort out;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    out.host = lower(text.substr(1, end - 1));
    rest = text.substr(end + 1);
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    out.host = lower(text.substr(0, end));
    rest = text.substr(end);
  }
  if (rest.empty()) return out;
  const char* const end = rest.data() + rest.size();
  const auto [stopped, error] = std::from_chars(rest.data() + 1, end, out.port);
  if (rest.front() != ':' || error != std::errc() || stopped != end) return std::nullopt;
  return out;
}

// A rebound name is no address, and none of ours.
bool is_our_host(std::string_view text, const GuardRules& rules) {
  const std::optional<HostPort> asked = split(text);
  if (!asked || asked->port != rules.port) return false;
  const std::string& host = asked->host;
  if (host == "localhost" || host == "127.0.0.1" || host == "::1") return true;
  if (std::ranges::any_of(rules.hosts, [&](const auto& ours) { return lower(ours) == host; }))
    return true;
  return !rules.is_local && is_address(host);
}

// Takes as long for a wrong first byte as for a wrong last one.
bool same_secret(std::string_view given, std::string_view secret) {
  unsigned char differs = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i)
    differs |= static_cast<unsigned char>(secret[i] ^ (i < given.size() ? given[i] : 0));
  return differs == 0;
}

bool has_token(const HttpRequest& request, const std::string& token) {
  constexpr std::string_view kBearer = "bearer ";
  if (const auto given = request.header("authorization"))
    if (lower(given->substr(0, kBearer.size())) == kBearer)
      return same_secret(given->substr(kBearer.size()), token);
  const auto key = request.header("x-api-key");
  return key && same_secret(*key, token);
}

bool is_listed_origin(const HttpRequest& request, const GuardRules& rules) {
  const auto origin = request.header("origin");
  return origin && std::ranges::find(rules.origins, *origin) != rules.origins.end();
}

std::optional<ApiError> check_body_head(const HttpRequest& request, const GuardRules& rules) {
  const std::string type = lower(request.header("content-type").value_or(""));
  if (type.substr(0, type.find(';')) != "application/json")
    return ApiError{415, "content_type", "",
                    "The body must be JSON: Content-Type: application/json."};
  if (request.header("content-encoding").value_or("identity") != "identity")
    return ApiError{415, "content_encoding", "", "A compressed body is not taken."};
  const std::string_view length = request.header("content-length").value_or("0");
  std::uint64_t n = 0;
  const auto [stopped, error] = std::from_chars(length.data(), length.data() + length.size(), n);
  if (error == std::errc::invalid_argument || stopped != length.data() + length.size() ||
      request.n_headers("content-length") > 1)
    return ApiError{400, "content_length", "", "Content-Length is no number."};
  if (error != std::errc() || n > rules.body_bytes)
    return ApiError{413, "request_too_large", "",
                    "The body may have " + std::to_string(rules.body_bytes) + " bytes."};
  return std::nullopt;
}

}  // namespace

bool can_be_host(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_');
  };
  return is_address(name) || (!name.empty() && std::ranges::all_of(name, fits));
}

// As browsers write it: in small letters, without a path; "null" of a page without an origin.
bool can_be_origin(const std::string& origin) {
  const std::size_t colon = origin.find("://");
  if (origin == "null") return true;
  if (colon == 0 || colon == origin.npos || origin != lower(origin)) return false;
  const std::string scheme = origin.substr(0, colon);
  const std::optional<HostPort> place = split(std::string_view(origin).substr(colon + 3));
  return place && can_be_host(scheme) && can_be_host(place->host);
}

bool is_local_address(const std::string& address) {
  return address == "localhost" || address == "::1" ||
         (address.starts_with("127.") && is_address(address));
}

Result<std::string> read_token(const std::filesystem::path& file) {
  const auto failed = [&](const std::string& why) {
    return Error{ErrorKind::invalid, "TOKEN_FILE",
                 "The token file \"" + file.string() + "\" " + why};
  };
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return failed("cannot be read.");
  struct stat facts = {};
  char bytes[kTokenBytesMax];
  const bool is_known = fstat(opened, &facts) == 0;
  const ssize_t n = is_known ? read(opened, bytes, sizeof bytes) : -1;
  close(opened);
  if (n < 0) return failed("cannot be read.");
  if ((facts.st_mode & 077) != 0)
    return failed("can be read by other users. Run: chmod 600 \"" + file.string() + "\"");
  std::string token(bytes, static_cast<std::size_t>(n));
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back()))) token.pop_back();
  if (token.size() < kTokenBytesMin)
    return failed("must hold a token of at least 16 characters. Make one: openssl rand -hex 32");
  return token;
}

std::optional<ApiError> check_head(const HttpRequest& request, const GuardRules& rules) {
  const auto host = request.header("host");
  if (!host || request.n_headers("host") != 1 || !is_our_host(*host, rules))
    return ApiError{403, "host", "", "The request names another host than this server."};
  if (request.header("origin") && !is_listed_origin(request, rules))
    return ApiError{403, "origin", "",
                    "Pages of this origin may not ask. Allow it with --allow-origin."};
  if (request.method == "OPTIONS" || request.path == "/health") return std::nullopt;
  if (!rules.token.empty() && !has_token(request, rules.token))
    return ApiError{401, "invalid_api_key", "", "Missing or wrong API key."};
  if (request.method == "POST") return check_body_head(request, rules);
  return std::nullopt;
}

Headers cross_origin_headers(const HttpRequest& request, const GuardRules& rules) {
  if (!is_listed_origin(request, rules)) return {};
  return {{"Access-Control-Allow-Origin", std::string(*request.header("origin"))},
          {"Access-Control-Allow-Methods", "GET, POST, DELETE"},
          {"Access-Control-Allow-Headers",
           "Authorization, Content-Type, X-Api-Key, X-Satchel-Session, Anthropic-Version"},
          {"Vary", "Origin"}};
}

}  // namespace satchel::serve
