#include "app/paths.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "app/installed_root.h"
#include "runtime/gguf/split.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

fs::path from_environment(const char* variable, const fs::path& below_home) {
  const char* value = std::getenv(variable);
  if (value != nullptr && fs::path(value).is_absolute()) return fs::path(value) / "satchel";
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "/") / below_home / "satchel";
}

}  // namespace

fs::path installed_root(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return folder.filename() == "bin" ? folder.parent_path() : folder;
}

namespace {

fs::path own_root() {
  std::error_code error;
  return installed_root(fs::read_symlink("/proc/self/exe", error));
}

// A build folder looks like an installed tree.
fs::path bundled_model() {
  return own_root() / "share/satchel/models" / SATCHEL_BUNDLED_MODEL;
}

// Never the working directory, nor a folder named from it: what lies there may be anybody's.
void find_backends(Paths& paths) {
  const char* given = std::getenv("SATCHEL_BACKENDS");
  const bool is_given = given != nullptr && *given != '\0';
  const bool is_heeded = is_given && fs::path(given).is_absolute();
  paths.backends = {is_heeded ? fs::path(given) : own_root() / "lib/satchel"};
  if (is_given && !is_heeded)
    paths.notice =
        "SATCHEL_BACKENDS is \"" + std::string(given) +
        "\", which is not an absolute path and is ignored. The GPU library is expected in \"" +
        paths.backends[0].string() + "\".";
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

// Of parts, up to the first that cannot be read: without it the model does not open, and how many
// there should be is only what a file's name says.
std::uintmax_t bytes_of(const fs::path& path, const std::optional<runtime::SplitName>& part) {
  std::uintmax_t bytes = 0;
  for (std::uint32_t number = 1; number <= (part ? part->count : 1u); ++number) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(part ? part->part(number) : path, error);
    if (error) break;
    bytes += size;
  }
  return bytes;
}
}  // namespace

Paths standard_paths(const fs::path& store) {
  Paths paths;
  paths.data_dir = from_environment("XDG_DATA_HOME", ".local/share");
  paths.cache_dir = from_environment("XDG_CACHE_HOME", ".cache");
  paths.models_dir = paths.data_dir / "models";
  paths.bundled_model = bundled_model();
  find_backends(paths);
  paths.is_named_store = !store.empty();
  if (paths.is_named_store) paths.data_dir = paths.cache_dir = fs::absolute(store);
  paths.profiles = paths.cache_dir / "lane-tables";
  return paths;
}

std::vector<ModelFile> find_models(const Paths& paths) {
  std::vector<ModelFile> own;
  std::error_code error;
  for (fs::directory_iterator it(paths.models_dir, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path& path = it->path();
    std::error_code unreadable;
    if (lower(path.extension().string()) != ".gguf" || path.filename().string().front() == '.' ||
        !it->is_regular_file(unreadable))
      continue;
    const std::optional<runtime::SplitName> part = runtime::split_name(path);
    if (part && part->number != 1) continue;  // opened with the first
    own.push_back({path, (part ? part->before.filename() : path.stem()).string(), false,
                   bytes_of(path, part)});
  }
  std::sort(own.begin(), own.end(),
            [](const ModelFile& a, const ModelFile& b) { return a.name < b.name; });
  if (fs::exists(paths.bundled_model, error))
    own.insert(own.begin(), {paths.bundled_model, "notes-mini (bundled)", true,
                             bytes_of(paths.bundled_model, {})});
  return own;
}

std::vector<ModelFile> models_named(const Paths& paths, const std::string& given) {
  std::error_code error;
  // A folder of that name does not hide the model.
  if (given.empty() || given.find('/') != std::string::npos || fs::is_regular_file(given, error))
    return {};
  std::vector<ModelFile> matches;
  for (const ModelFile& model : find_models(paths)) {
    if (lower(model.name) == lower(given)) return {model};
    if (lower(model.name).rfind(lower(given), 0) == 0) matches.push_back(model);
  }
  return matches;
}

fs::path resolve_model(const Paths& paths, const std::string& given) {
  if (given.empty()) return paths.bundled_model;
  const std::vector<ModelFile> matches = models_named(paths, given);
  return matches.size() == 1 ? matches.front().path : fs::path(given);
}

}  // namespace satchel::app
