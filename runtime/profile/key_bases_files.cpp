#include "runtime/profile/key_bases_files.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::KeyBases;

constexpr ProfileKind kKind{.code = "KEY_BASES",
                            .noun = "key bases file",
                            .remedy = "Delete it and run \"satchel calibrate\" to make it again.",
                            .ending = ".bases",
                            .bytes_max = kvcache::kKeyBasesBytesMax,
                            .head = 64};

}  // namespace

fs::path key_bases_file(const fs::path& dir, const std::string& fingerprint) {
  return kept_path(dir, fingerprint, kKind);
}

FoundBases find_key_bases(const fs::path& dir, const std::string& fingerprint,
                          const ModelConfig& config) {
  return find_profile<KeyBases>(kKind, dir, fingerprint, config, shipped_key_bases());
}

Result<void> save_key_bases(const fs::path& dir, const KeyBases& bases) {
  return write_key_bases(key_bases_file(dir, bases.model), bases);
}

Result<void> write_key_bases(const fs::path& path, const KeyBases& bases) {
  return write_profile(path, bases.bytes(), kKind);
}

}  // namespace satchel::runtime
