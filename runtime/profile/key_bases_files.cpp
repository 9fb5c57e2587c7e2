#include "runtime/profile/key_bases_files.h"

#include <system_error>

#include "runtime/model/config.h"
#include "runtime/profile/kept_file.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::KeyBases;

constexpr KeptKind kKind{.code = "KEY_BASES",
                         .noun = "file of key bases",
                         .remedy = "Remove it; \"satchel calibrate\" makes it again.",
                         .bytes_max = kvcache::kKeyBasesBytesMax};
constexpr std::size_t kHead = 64;  // bytes of a file that its model's fingerprint lies in

using Found = Result<std::shared_ptr<const KeyBases>>;  // null: there are none

Found checked(std::string_view bytes, const std::string& called, const std::string& fingerprint,
              const ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(KeyBases bases, KeyBases::parse(bytes, called));
  if (bases.model == fingerprint && config.cache_shape().suits(bases))
    return std::make_shared<const KeyBases>(std::move(bases));
  return of_another_model(called, kKind);
}

Found in_folder(const fs::path& dir, const std::string& fingerprint, const ModelConfig& config) {
  const fs::path own = key_bases_file(dir, fingerprint);
  std::error_code ignored;
  if (dir.empty() || !fs::exists(own, ignored)) return std::shared_ptr<const KeyBases>();
  SATCHEL_TRY_ASSIGN(const std::string bytes, read_kept(own, kKind));
  return checked(bytes, own.string(), fingerprint, config);
}

Found among_shipped(const std::string& fingerprint, const ModelConfig& config) {
  for (const ShippedBases& shipped : shipped_key_bases())
    if (shipped.bytes.substr(0, kHead).find(fingerprint) != std::string_view::npos)
      return checked(shipped.bytes, std::string(shipped.file), fingerprint, config);
  return std::shared_ptr<const KeyBases>();
}

}  // namespace

fs::path key_bases_file(const fs::path& dir, const std::string& fingerprint) {
  return dir / (fingerprint + ".bases");
}

FoundBases find_key_bases(const fs::path& dir, const std::string& fingerprint,
                          const ModelConfig& config) {
  FoundBases out;
  const Found own = in_folder(dir, fingerprint, config);
  if (!own.ok()) out.damage = own.error();
  if (own.ok() && *own != nullptr) {
    out.bases = *own;
    out.from = KeyBasesFrom::folder;
    return out;
  }
  const Found shipped = among_shipped(fingerprint, config);
  if (!shipped.ok() && !out.damage) out.damage = shipped.error();
  if (shipped.ok() && *shipped != nullptr) {
    out.bases = *shipped;
    out.from = KeyBasesFrom::shipped;
  }
  return out;
}

Result<void> keep_key_bases(const fs::path& dir, const KeyBases& bases) {
  return write_key_bases(key_bases_file(dir, bases.model), bases);
}

Result<void> write_key_bases(const fs::path& path, const KeyBases& bases) {
  return write_kept(path, bases.bytes(), kKind);
}

}  // namespace satchel::runtime
