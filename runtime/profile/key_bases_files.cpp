#include "runtime/profile/key_bases_files.h"

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

}  // namespace

fs::path key_bases_file(const fs::path& dir, const std::string& fingerprint) {
  return dir / (fingerprint + ".bases");
}

FoundBases find_key_bases(const fs::path& dir, const std::string& fingerprint,
                          const ModelConfig& config) {
  const auto read = [&](std::string_view bytes,
                        const std::string& called) -> Result<std::shared_ptr<const KeyBases>> {
    SATCHEL_TRY_ASSIGN(KeyBases bases, KeyBases::parse(bytes, called));
    if (bases.model == fingerprint && config.cache_shape().suits(bases))
      return std::make_shared<const KeyBases>(std::move(bases));
    return of_another_model(called, kKind);
  };
  return find_kept<KeyBases>(kKind,
                             {.own = dir.empty() ? dir : key_bases_file(dir, fingerprint),
                              .shipped = shipped_key_bases(),
                              .fingerprint = fingerprint,
                              .head = kHead},
                             read);
}

Result<void> keep_key_bases(const fs::path& dir, const KeyBases& bases) {
  return write_key_bases(key_bases_file(dir, bases.model), bases);
}

Result<void> write_key_bases(const fs::path& path, const KeyBases& bases) {
  return write_kept(path, bases.bytes(), kKind);
}

}  // namespace satchel::runtime
