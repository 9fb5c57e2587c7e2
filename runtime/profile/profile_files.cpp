#include "runtime/profile/profile_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::HeadBudgets;
using kvcache::KeyBases;
using kvcache::SelectorMethod;
using kvcache::SelectorWeights;

// A kind of profile file, as messages describe it.
struct ProfileKind {
  std::string_view code, noun, remedy, ending;
  std::size_t bytes_max = 0;
  std::size_t head = std::string_view::npos;  // length of a file's part that names its model
};
constexpr ProfileKind kBudgetsKind{.code = "LANE_SHARES",
                                   .noun = "head-budget profile",
                                   .remedy = "Delete it, and Satchel makes it again.",
                                   .ending = ".json",
                                   .bytes_max = kvcache::kHeadBudgetsBytesMax};
constexpr ProfileKind kBasesKind{
    .code = "KEY_BASES",
    .noun = "key bases file",
    .remedy = "Delete it and run \"satchel calibrate\" to make it again.",
    .ending = ".bases",
    .bytes_max = kvcache::kKeyBasesBytesMax,
    .head = 64};
constexpr ProfileKind selector_kind(std::string_view remedy, std::string_view ending) {
  return {.code = "SELECTOR_WEIGHTS",
          .noun = "selector weights file",
          .remedy = remedy,
          .ending = ending,
          .bytes_max = kvcache::kSelectorBytesMax,
          .head = kvcache::kSelectorHeaderMax};
}
// By method. Locret's files have no method in their name: they were the first.
constexpr std::array kSelectorKinds = {
    selector_kind("Delete it, or make it again with training/locret.", ".safetensors"),
    selector_kind("Delete it, or make it again with training/attention-gate.",
                  ".attention-gate.safetensors"),
    selector_kind("Delete it, or make it again with training/lococo.", ".lococo.safetensors")};
static_assert(kSelectorKinds.size() == kvcache::kSelectorMethods.size());

const ProfileKind& kind_of(SelectorMethod method) {
  return kSelectorKinds[static_cast<std::size_t>(method)];
}
// Of a file that ships.
SelectorMethod method_of(std::string_view file) {
  for (const SelectorMethod method : kvcache::kSelectorMethods)
    if (method != SelectorMethod::locret && file.ends_with(kind_of(method).ending)) return method;
  return SelectorMethod::locret;
}

fs::path file_in(const fs::path& dir, const std::string& fingerprint, const ProfileKind& kind) {
  return dir / (fingerprint + std::string(kind.ending));
}

Result<std::string> read_profile(const fs::path& path, const ProfileKind& kind) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size <= kind.bytes_max) {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (file.good() && static_cast<std::size_t>(file.gcount()) == bytes.size()) return bytes;
  }
  return Error{ErrorKind::corrupt, std::string(kind.code),
               "\"" + path.string() + "\" is not a valid " + std::string(kind.noun) +
                   ": it cannot be read or is larger than " + std::to_string(kind.bytes_max >> 20) +
                   " MiB. " + std::string(kind.remedy)};
}

// These return errno's number, or 0. What is new is its owner's only.
int make_folder(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || fs::exists(folder, ignored)) return 0;
  if (const int failed = make_folder(folder.parent_path()); failed != 0) return failed;
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

// On disk when this returns: renamed before, a power cut might leave an empty file.
int write_synced(const fs::path& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  int failed = 0;
  while (failed == 0 && !bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      failed = errno;
  }
  if (failed == 0 && ::fsync(file) != 0) failed = errno;
  if (::close(file) != 0 && failed == 0) failed = errno;
  return failed;
}

Result<void> write_profile(const fs::path& path, std::string_view bytes, const ProfileKind& kind) {
  // A name of its own: two programs may find the same at the same time.
  const fs::path written = path.string() + "." + std::to_string(::getpid()) + ".new";
  int failed = make_folder(path.parent_path());
  if (failed == 0) failed = write_synced(written, bytes);
  if (failed == 0 && ::rename(written.c_str(), path.c_str()) != 0) failed = errno;
  if (failed == 0) return {};
  std::error_code ignored;
  fs::remove(written, ignored);
  return Error{ErrorKind::storage, std::string(kind.code),
               "The " + std::string(kind.noun) + " \"" + path.string() +
                   "\" cannot be written: " + std::generic_category().message(failed) + "."};
}

Error of_another_model(std::string_view called, const ProfileKind& kind) {
  return {ErrorKind::corrupt, std::string(kind.code),
          "\"" + std::string(called) + "\" is a " + std::string(kind.noun) +
              " for another model. " + std::string(kind.remedy)};
}

// parse: of T, from bytes and what they are called.
template <class T, class Parse>
FoundProfile<T> find_profile(const ProfileKind& kind, const fs::path& dir,
                             const std::string& fingerprint, const ModelConfig& config,
                             std::span<const ShippedFile> all_shipped, const Parse& parse) {
  FoundProfile<T> out;
  const auto take = [&](Result<T> found, const std::string& called, ProfileFrom from) {
    if (found.ok() && !(found->model == fingerprint && config.cache_shape().suits(*found)))
      found = of_another_model(called, kind);
    if (found.ok())
      out.value = std::make_shared<const T>(std::move(found).value()), out.from = from;
    else if (!out.damage)
      out.damage = found.error();
  };
  const fs::path own = file_in(dir, fingerprint, kind);
  std::error_code ignored;
  if (!dir.empty() && fs::exists(own, ignored)) {
    const Result<std::string> bytes = read_profile(own, kind);
    const std::string called = own.string();
    take(bytes.ok() ? parse(*bytes, called) : bytes.error(), called, ProfileFrom::folder);
  }
  for (const ShippedFile& shipped : all_shipped)
    if (out.value == nullptr &&
        shipped.bytes.substr(0, kind.head).find(fingerprint) != std::string_view::npos) {
      const std::string called(shipped.file);
      take(parse(shipped.bytes, called), called, ProfileFrom::shipped);
      break;
    }
  return out;
}

}  // namespace

FoundProfile<HeadBudgets> find_head_budgets(const fs::path& dir, const std::string& fingerprint,
                                            const ModelConfig& config) {
  return find_profile<HeadBudgets>(kBudgetsKind, dir, fingerprint, config, shipped_head_budgets(),
                                   HeadBudgets::parse);
}
FoundProfile<KeyBases> find_key_bases(const fs::path& dir, const std::string& fingerprint,
                                      const ModelConfig& config) {
  return find_profile<KeyBases>(kBasesKind, dir, fingerprint, config, shipped_key_bases(),
                                KeyBases::parse);
}
FoundProfile<SelectorWeights> find_selector(const fs::path& dir, const std::string& fingerprint,
                                            const ModelConfig& config, SelectorMethod method) {
  std::vector<ShippedFile> shipped;
  std::error_code ignored;
  const bool has_own = !dir.empty() && fs::exists(selector_file(dir, fingerprint, method), ignored);
  for (const ShippedFile& file : shipped_selectors())
    if (!has_own && method_of(file.file) == method) shipped.push_back(file);
  return find_profile<SelectorWeights>(kind_of(method), dir, fingerprint, config, shipped,
                                       [method](std::string_view bytes, std::string_view called) {
                                         return SelectorWeights::parse(bytes, called, method);
                                       });
}

kvcache::SelectorSet selectors_when_needed(const fs::path& dir, const std::string& fingerprint,
                                           const ModelConfig& config) {
  kvcache::SelectorSet set;
  for (const SelectorMethod method : kvcache::kSelectorMethods)
    set.set_read(
        method, [dir, fingerprint, config, method]() -> Result<kvcache::SelectorSet::Weights> {
          FoundProfile<SelectorWeights> found = find_selector(dir, fingerprint, config, method);
          if (found.damage) return std::move(*found.damage);
          return std::move(found.value);
        });
  return set;
}

fs::path head_budgets_file(const fs::path& dir, const std::string& fingerprint) {
  return file_in(dir, fingerprint, kBudgetsKind);
}
fs::path key_bases_file(const fs::path& dir, const std::string& fingerprint) {
  return file_in(dir, fingerprint, kBasesKind);
}
fs::path selector_file(const fs::path& dir, const std::string& fingerprint, SelectorMethod method) {
  return file_in(dir, fingerprint, kind_of(method));
}

Result<void> save_head_budgets(const fs::path& dir, const HeadBudgets& table) {
  return write_profile(head_budgets_file(dir, table.model), table.json(), kBudgetsKind);
}
Result<void> save_key_bases(const fs::path& dir, const KeyBases& bases) {
  return write_profile(key_bases_file(dir, bases.model), bases.bytes(), kBasesKind);
}

}  // namespace satchel::runtime
