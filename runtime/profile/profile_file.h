// Profile files: what was measured or learned for a model. They are read with a size limit and
// written atomically in a folder of the program, or compiled in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "kernels/base/result.h"
#include "runtime/model/config.h"

namespace satchel::runtime {

// A kind of profile file, as messages describe it.
struct ProfileKind {
  std::string_view code;    // LANE_SHARES
  std::string_view noun;    // "key bases file"
  std::string_view remedy;  // "Delete it, and Satchel makes it again."
  std::string_view ending;  // ".json"
  std::size_t bytes_max = 0;
  std::size_t head = std::string_view::npos;  // length of a file's part that names its model
};

// One file for each model.
std::filesystem::path kept_path(const std::filesystem::path& dir, const std::string& fingerprint,
                                const ProfileKind& kind);
// Errors: corrupt, `code`: the file cannot be read or is larger than bytes_max.
Result<std::string> read_profile(const std::filesystem::path& path, const ProfileKind& kind);
// Creates the folder and replaces an older file. Errors: storage, `code`.
Result<void> write_profile(const std::filesystem::path& path, std::string_view bytes,
                           const ProfileKind& kind);
// corrupt, `code`: the file is valid, but for another model.
Error of_another_model(std::string_view called, const ProfileKind& kind);

// A file compiled into the program.
struct ShippedFile {
  std::string_view file, bytes;
};

enum class ProfileFrom { nowhere, shipped, folder };

// The profile that a model runs with. A file in the folder takes precedence over a shipped one.
template <class T>
struct FoundProfile {
  std::shared_ptr<const T> value;  // null: none
  ProfileFrom from = ProfileFrom::nowhere;
  // Why a file was ignored: corrupt, with the kind's code.
  std::optional<Error> damage;
};

// Looks into `dir` (empty: only shipped ones), then among the files of all models that ship.
template <class T>
FoundProfile<T> find_profile(const ProfileKind& kind, const std::filesystem::path& dir,
                             const std::string& fingerprint, const ModelConfig& config,
                             std::span<const ShippedFile> all_shipped) {
  FoundProfile<T> out;
  const auto take = [&](Result<T> found, const std::string& called, ProfileFrom from) {
    if (found.ok() && !(found->model == fingerprint && config.cache_shape().suits(*found)))
      found = of_another_model(called, kind);
    if (found.ok())
      out.value = std::make_shared<const T>(std::move(found).value()), out.from = from;
    else if (!out.damage)
      out.damage = found.error();
  };
  const std::filesystem::path own = kept_path(dir, fingerprint, kind);
  std::error_code ignored;
  if (!dir.empty() && std::filesystem::exists(own, ignored)) {
    const Result<std::string> bytes = read_profile(own, kind);
    const std::string called = own.string();
    take(bytes.ok() ? T::parse(*bytes, called) : bytes.error(), called, ProfileFrom::folder);
  }
  for (const ShippedFile& shipped : all_shipped)
    if (out.value == nullptr &&
        shipped.bytes.substr(0, kind.head).find(fingerprint) != std::string_view::npos) {
      const std::string called(shipped.file);
      take(T::parse(shipped.bytes, called), called, ProfileFrom::shipped);
      break;
    }
  return out;
}

}  // namespace satchel::runtime
