// Where key bases (kvcache::KeyBases) are found and kept: beside lane tables (lane_tables.h) and as they
// are, a file a model: <fingerprint>.bases. Disposable: `satchel calibrate` makes them again.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kvcache/lanes/key_bases.h"
#include "runtime/profile/kept_file.h"

namespace satchel::runtime {

struct ModelConfig;

std::span<const ShippedFile> shipped_key_bases();

using FoundBases = Kept<kvcache::KeyBases>;  // damage: KEY_BASES
// `dir` empty: only shipped ones.
FoundBases find_key_bases(const std::filesystem::path& dir, const std::string& fingerprint,
                          const ModelConfig& config);
// Into dir, whole or not at all; replaces an older one. storage, KEY_BASES.
Result<void> keep_key_bases(const std::filesystem::path& dir, const kvcache::KeyBases& bases);
// To a file of any name, likewise.
Result<void> write_key_bases(const std::filesystem::path& path, const kvcache::KeyBases& bases);
std::filesystem::path key_bases_file(const std::filesystem::path& dir,
                                     const std::string& fingerprint);

}  // namespace satchel::runtime
