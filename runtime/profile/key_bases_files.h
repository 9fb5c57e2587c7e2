// Where key bases (kvcache::KeyBases) are found and kept: beside lane tables (lane_tables.h) and as they
// are, a file a model: <fingerprint>.bases. Disposable: `satchel calibrate` makes them again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kvcache/lanes/key_bases.h"

namespace satchel::runtime {

struct ModelConfig;

struct ShippedBases {
  std::string_view file, bytes;
};
std::span<const ShippedBases> shipped_key_bases();

enum class KeyBasesFrom { nowhere, shipped, folder };

// What a model runs with: the folder's before the shipped ones.
struct FoundBases {
  std::shared_ptr<const kvcache::KeyBases> bases;  // null: there are neither
  KeyBasesFrom from = KeyBasesFrom::nowhere;
  // corrupt, KEY_BASES: of a file that is passed over, as it cannot be read as this model's.
  std::optional<Error> damage;
};
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
