#include "app/cli/published_systems.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <utility>

#include "app/cli/console.h"
#include "kvcache/stages/registry.h"

namespace satchel::app {
namespace {

constexpr SystemStatus kStatuses[] = {SystemStatus::built, SystemStatus::in_part,
                                      SystemStatus::refused, SystemStatus::not_built};

// "A^2ATS" and "a2ats" are one name.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (const auto byte = static_cast<unsigned char>(c); std::isalnum(byte) != 0)
      out += static_cast<char>(std::tolower(byte));
  return out;
}

Error no_list(const std::string& what) {
  return {ErrorKind::internal, "INTERNAL", "The list of published systems: " + what};
}

std::optional<SystemStatus> status_of(std::string_view text) {
  for (const SystemStatus status : kStatuses)
    if (to_text(status) == text) return status;
  return std::nullopt;
}

std::string text_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> texts_of(const Json& row, const char* key) {
  std::vector<std::string> out;
  if (const auto found = row.find(key); found != row.end())
    for (const Json& each : *found)
      if (each.is_string()) out.push_back(each.get<std::string>());
  return out;
}

std::string refused_for(std::string_view source) {
  for (const kvcache::RefusedStage& refused : kvcache::refused_stages())
    if (refused.source == source) return std::string(refused.why);
  return "";
}

Result<PublishedSystem> system_of(const Json& row) {
  PublishedSystem system{.name = text_of(row, "name"),
                         .title = text_of(row, "title"),
                         .source = text_of(row, "source"),
                         .recipes = texts_of(row, "recipes"),
                         .files = texts_of(row, "files"),
                         .what = text_of(row, "what"),
                         .why = text_of(row, "why"),
                         .measured = text_of(row, "measured"),
                         .measured_in = text_of(row, "measured_in"),
                         .measured_by = text_of(row, "measured_by"),
                         .published = text_of(row, "published"),
                         .compared = text_of(row, "compared"),
                         .tests = texts_of(row, "tests")};
  const std::optional<SystemStatus> status = status_of(text_of(row, "status"));
  if (system.name.empty() || !status)
    return no_list("\"" + system.name +
                   "\" needs a name, and a status: built, in part, refused or not built.");
  system.status = *status;
  if (system.status == SystemStatus::refused) system.why = refused_for(system.source);
  const bool is_lacking = *status == SystemStatus::refused || *status == SystemStatus::not_built;
  if (system.title.empty() || system.source.empty() || system.what.empty() ||
      system.why.empty() == is_lacking)
    return no_list("\"" + system.name +
                   "\" needs a title, a source, what it is, and a reason where Satchel lacks it.");
  const bool is_measured = !system.measured.empty();
  if (is_measured == system.measured_in.empty() || is_measured == system.measured_by.empty())
    return no_list("\"" + system.name +
                   "\" needs a document and a command for its figures, and figures for these.");
  return system;
}

// Levenshtein's: letters to add, drop or change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

// A name that goes on from what was typed is meant before one that was mistyped: "snap" is SnapKV,
// though SAQ is as near.
std::string nearest_name(std::span<const PublishedSystem> systems, std::string_view name) {
  const std::string wanted = plain(name);
  std::string nearest;
  std::pair least = {true, std::string::npos};
  for (const PublishedSystem& system : systems) {
    const std::string called = plain(system.name);
    const std::pair far = {!called.starts_with(wanted), distance(called, wanted)};
    if (far < least) {
      least = far;
      nearest = system.name;
    }
  }
  return nearest;
}

}  // namespace

std::string_view to_text(SystemStatus status) {
  switch (status) {
    case SystemStatus::built:
      return "built";
    case SystemStatus::in_part:
      return "in part";
    case SystemStatus::refused:
      return "refused";
    case SystemStatus::not_built:
      return "not built";
  }
  return "";
}

Result<std::vector<PublishedSystem>> read_systems(std::string_view json) {
  const Json list = Json::parse(json, nullptr, false);
  if (list.is_discarded() || !list.is_object() || !list.contains("systems"))
    return no_list("it is no JSON object with \"systems\".");
  std::vector<PublishedSystem> systems;
  for (const Json& row : list["systems"]) {
    SATCHEL_TRY_ASSIGN(PublishedSystem system, system_of(row));
    systems.push_back(std::move(system));
  }
  std::ranges::sort(systems, {}, [](const PublishedSystem& system) { return plain(system.name); });
  return systems;
}

Result<PublishedSystem> find_system(std::span<const PublishedSystem> systems,
                                    std::string_view name) {
  const std::string wanted = plain(name);
  for (const PublishedSystem& system : systems)
    if (plain(system.name) == wanted) return system;
  for (const PublishedSystem& system : systems)
    for (const std::string& recipe : system.recipes)
      if (plain(recipe) == wanted) return system;
  return Error{ErrorKind::not_found, "SYSTEM",
               "There is no system \"" + std::string(name) +
                   "\" in the list. The nearest name is \"" + nearest_name(systems, name) +
                   "\"; \"satchel systems\" lists all."};
}

}  // namespace satchel::app
