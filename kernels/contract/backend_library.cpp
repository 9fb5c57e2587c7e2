#include "kernels/contract/backend_library.h"

#include <dlfcn.h>

#include <system_error>

#include "kernels/base/released_by.h"

namespace satchel::kernels {
namespace {
namespace fs = std::filesystem;

Error bad_library(const fs::path& path, const std::string& why) {
  return {ErrorKind::device_lost, "GPU_LIBRARY_BAD",
          "\"" + path.string() + "\" " + why + ". Install Satchel again, or use the cpu backend."};
}

Error not_there(std::string_view file, std::span<const fs::path> folders) {
  std::string looked;
  for (const fs::path& folder : folders)
    looked += (looked.empty() ? " Satchel looked in " : " and ") + folder.string();
  return {ErrorKind::device_lost, "GPU_LIBRARY",
          "The GPU library " + std::string(file) + " is not installed." + looked +
              (looked.empty() ? "" : ".") +
              " packaging/run.sh builds it if a CUDA compiler is installed (packaging/get-cuda.sh "
              "installs one). The cpu backend runs without it."};
}

Result<fs::path> find(std::string_view file, std::span<const fs::path> folders) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (folder.is_absolute() && fs::exists(folder / file, error)) return folder / file;
  }
  return not_there(file, folders);
}

using Handle = std::unique_ptr<void, ReleasedBy<&dlclose>>;

std::string why_not_loaded() {
  const char* said = dlerror();
  return said == nullptr ? "the system gave no reason" : said;
}

Result<const BackendLibrary*> described(const Handle& library, const fs::path& path) {
  const auto entry =
      reinterpret_cast<BackendLibraryEntry>(dlsym(library.get(), kBackendLibraryEntry));
  if (entry == nullptr)
    return bad_library(
        path, "is not a Satchel backend: it has no function " + std::string(kBackendLibraryEntry));
  const BackendLibrary* about = entry();
  const bool has_build = about != nullptr && about->build != nullptr;
  if (!has_build || about->abi != kBackendLibraryAbi || build_identity() != about->build) {
    const std::string theirs = has_build ? about->build : "unknown";
    return Error{ErrorKind::device_lost, "PLUGIN_ABI",
                 "\"" + path.string() + "\" is from another build (" + theirs +
                     ") than this program (" + std::string(build_identity()) +
                     "). Install or build both together. Until then, use the cpu backend."};
  }
  if (about->lacks == nullptr || about->make == nullptr)
    return bad_library(path, "is a Satchel backend with an incomplete table");
  return about;
}

}  // namespace

Result<LibraryBackend> open_backend_library(std::string_view file,
                                            std::span<const fs::path> folders,
                                            const BackendOptions& options) {
  SATCHEL_TRY_ASSIGN(const fs::path path, find(file, folders));
  Handle library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) return bad_library(path, "cannot be loaded: " + why_not_loaded());
  SATCHEL_TRY_ASSIGN(const BackendLibrary* const about, described(library, path));
  (void)library.release();  // it stays open
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Backend> backend, about->make(options));
  return LibraryBackend{std::move(backend), about->lacks};
}

}  // namespace satchel::kernels
