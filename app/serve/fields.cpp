#include "app/serve/fields.h"

#include <algorithm>
#include <utility>

#include "runtime/grammar/json_excess.h"

namespace satchel::serve {
namespace {

std::string range_text(const std::string& least, const std::string& most) {
  return "must be " + least + " to " + most + ".";
}

}  // namespace

std::optional<ApiError> parse_body(const std::string& body, Json& document) {
  if (const char* const excess = runtime::json_excess(body))
    return ApiError{400, "invalid_json", "", "The JSON " + std::string(excess)};
  document = Json::parse(body, nullptr, false);
  if (document.is_discarded())
    return ApiError{400, "invalid_json", "", "The body is not valid JSON."};
  if (!document.is_object())
    return ApiError{400, "invalid_json", "", "The body must be a JSON object."};
  return std::nullopt;
}

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) fail(bad_field(path_, "must be an object."));
}

std::string Fields::path_of(std::string_view name) const {
  return (path_.empty() ? "" : path_ + ".") + std::string(name);
}

void Fields::fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void Fields::fail(std::string_view name, std::string message, std::string code) {
  std::string param = path_of(name);
  message = param + " " + message;
  fail(bad_field(std::move(param), std::move(message), std::move(code)));
}

const Json* Fields::find(std::string_view name) {
  if (!object_.is_object()) return nullptr;
  read_.emplace(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

double Fields::number(std::string_view name, double fallback, double least, double most) {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  const double given = value->is_number() ? value->get<double>() : least - 1;
  if (given >= least && given <= most) return given;  // NaN is not
  fail(name, range_text(Json(least).dump(), Json(most).dump()));
  return fallback;
}

std::uint64_t Fields::whole(std::string_view name, std::uint64_t fallback, std::uint64_t least,
                            std::uint64_t most) {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  if (value->is_number_unsigned() ||
      (value->is_number_integer() && value->get<std::int64_t>() >= 0)) {
    const auto given = value->get<std::uint64_t>();
    if (given >= least && given <= most) return given;
  }
  fail(name, "is a whole number: it " + range_text(std::to_string(least), std::to_string(most)));
  return fallback;
}

bool Fields::flag(std::string_view name, bool fallback) {
  const Json* value = find(name);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  fail(name, "must be true or false.");
  return fallback;
}

std::string Fields::text(std::string_view name, std::size_t bytes_max) {
  const Json* value = find(name);
  if (value == nullptr) return "";
  if (!value->is_string()) {
    fail(name, "must be a text.");
    return "";
  }
  if (value->get_ref<const std::string&>().size() > bytes_max) {
    fail(name, "is too long: " + std::to_string(bytes_max) + " bytes are taken.");
    return "";
  }
  return value->get<std::string>();
}

std::vector<std::string> Fields::texts(std::string_view name, std::size_t n_max) {
  std::vector<std::string> out;
  const Json* value = find(name);
  if (value == nullptr) return out;
  const auto take = [&](const Json& one) {
    const bool is_good = one.is_string() && !one.get_ref<const std::string&>().empty();
    if (is_good) out.push_back(one.get<std::string>());
    return is_good;
  };
  const bool is_good = value->is_array()
                           ? value->size() <= n_max && std::ranges::all_of(*value, take)
                           : take(*value);
  if (!is_good) {
    fail(name, "must be a text or up to " + std::to_string(n_max) + " of them, none empty.");
    out.clear();
  }
  return out;
}

void Fields::only(std::string_view name, const Json& value, const std::string& why) {
  const Json* given = find(name);
  if (given != nullptr && *given != value) fail(name, why, "unsupported");
}

void Fields::unsupported(std::string_view name, const std::string& why) {
  const Json* given = find(name);
  if (given == nullptr || *given == Json(false) || (given->is_structured() && given->empty()))
    return;
  fail(name, why, "unsupported");
}

std::vector<std::string> Fields::unread() const {
  std::vector<std::string> out;
  if (!object_.is_object()) return out;
  for (const auto& [name, value] : object_.items())
    if (!read_.contains(name)) out.push_back(path_of(name));
  return out;
}

}  // namespace satchel::serve
