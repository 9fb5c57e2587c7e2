// Fields: one JSON object of a request, read field by field. The first thing that is wrong is kept
// as the error, and what nobody asked for is listed. Null is as good as absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/serve/api_error.h"

namespace satchel::serve {

// The document of a request's body: an object.
std::optional<ApiError> parse_body(const std::string& body, Json& document);

class Fields {
 public:
  // path: of the object, for messages: "messages[2]"; "": the request's own
  explicit Fields(const Json& object, std::string path = "");

  // nullptr: there is none
  const Json* find(std::string_view name);
  double number(std::string_view name, double fallback, double least, double most);
  std::uint64_t whole(std::string_view name, std::uint64_t fallback, std::uint64_t least,
                      std::uint64_t most);
  bool flag(std::string_view name, bool fallback);
  std::string text(std::string_view name, std::size_t bytes_max = 1u << 10);
  // A text or a list of texts: of `n_max` at most, none empty.
  std::vector<std::string> texts(std::string_view name, std::size_t n_max);
  // Something that is asked for and cannot be given, unless it is this value (or absent).
  void only(std::string_view name, const Json& value, const std::string& why);
  void unsupported(std::string_view name, const std::string& why);

  void fail(ApiError error);
  void fail(std::string_view name, std::string message, std::string code = "invalid_value");
  const std::optional<ApiError>& error() const { return error_; }
  std::string path_of(std::string_view name) const;
  std::vector<std::string> unread() const;

 private:
  const Json& object_;
  const std::string path_;
  std::set<std::string, std::less<>> read_;
  std::optional<ApiError> error_;
};

}  // namespace satchel::serve
