#include "kernels/contract/backend_library.h"

#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
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

// The file with this code: the program, or a library that another program has loaded.
fs::path own_file() {
  static const char here = 0;
  std::error_code error;
  Dl_info about = {};
  if (dladdr(&here, &about) != 0 && about.dli_fname != nullptr && about.dli_fname[0] == '/') {
    fs::path file = fs::canonical(about.dli_fname, error);
    if (!error) return file;
  }
  return fs::read_symlink("/proc/self/exe", error);
}

// Who can replace the program's own file.
struct Replacers {
  uid_t owner = geteuid();
  std::optional<gid_t> group;  // that may write its folder
};

Replacers replacers_of(const fs::path& own) {
  Replacers who;
  struct stat found {};
  if (stat(own.c_str(), &found) == 0) who.owner = found.st_uid;
  if (stat(own.parent_path().c_str(), &found) == 0 && (found.st_mode & S_IWGRP) != 0)
    who.group = found.st_gid;
  return who;
}

// Many systems give each user a group of their own, of the same number or the same name.
bool is_own_group(gid_t group, uid_t user) {
  if (group == user) return true;
  std::array<char, 16384> of_user, of_group;
  passwd user_entry{}, *user_found = nullptr;
  ::group group_entry{}, *group_found = nullptr;
  if (getpwuid_r(user, &user_entry, of_user.data(), of_user.size(), &user_found) != 0 ||
      getgrgid_r(group, &group_entry, of_group.data(), of_group.size(), &group_found) != 0 ||
      user_found == nullptr || group_found == nullptr)
    return false;
  return user_found->pw_gid == group && std::strcmp(user_found->pw_name, group_found->gr_name) == 0;
}

// Why somebody else could have put there, or changed, what lies at `path`; empty: nobody could who
// cannot replace the program as well.
std::string why_not_trusted(const fs::path& path, const Replacers& replacers) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0)
    return "cannot be examined: " + std::generic_category().message(errno);
  if (found.st_uid != 0 && found.st_uid != geteuid() && found.st_uid != replacers.owner)
    return "belongs to another user (" + std::to_string(found.st_uid) + ")";
  const bool by_group = (found.st_mode & S_IWGRP) != 0 && found.st_gid != replacers.group &&
                        !is_own_group(found.st_gid, found.st_uid);
  const bool by_others = (found.st_mode & S_IWOTH) != 0;
  // In a sticky folder others may add files, but not replace these.
  const bool is_sticky = S_ISDIR(found.st_mode) && (found.st_mode & S_ISVTX) != 0;
  return (by_group || by_others) && !is_sticky ? "can be changed by other users" : std::string();
}

// A library's code runs as soon as it is loaded, whatever it says of itself then. So it is looked
// at before: the file and the folders above it, up to one that this program lies in, too. Who can
// change that one can replace the program.
Result<void> check_trusted(const fs::path& library) {
  const fs::path own = own_file();
  const Replacers replacers = replacers_of(own);
  const std::string ours = own.parent_path().string() + "/";
  for (fs::path at = library; at.has_relative_path(); at = at.parent_path()) {
    if (ours.starts_with(at.string() + "/")) return {};
    const std::string why = why_not_trusted(at, replacers);
    if (why.empty()) continue;
    return Error{ErrorKind::device_lost, "GPU_LIBRARY_BAD",
                 "The GPU library \"" + library.string() + "\" was not loaded, since \"" +
                     at.string() + "\" " + why +
                     ": it might not be Satchel's. If you put it there, let only its owner change "
                     "it (chmod go-w, chown); else remove it, or use the cpu backend."};
  }
  return {};
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
  SATCHEL_TRY_ASSIGN(const fs::path found, find(file, folders));
  std::error_code error;
  const fs::path path = fs::canonical(found, error);  // what is examined is what is loaded
  if (error) return bad_library(found, "cannot be found: " + error.message());
  SATCHEL_TRY(check_trusted(path));
  Handle library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) return bad_library(path, "cannot be loaded: " + why_not_loaded());
  SATCHEL_TRY_ASSIGN(const BackendLibrary* const about, described(library, path));
  (void)library.release();  // it stays open
  SATCHEL_TRY_ASSIGN(std::unique_ptr<Backend> backend, about->make(options));
  return LibraryBackend{std::move(backend), about->lacks};
}

}  // namespace satchel::kernels
