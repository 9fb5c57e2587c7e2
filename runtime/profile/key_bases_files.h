// Storage of key bases (kvcache::KeyBases): one file per model, <fingerprint>.bases, in the folder
// of head-budget profiles (head_budget_files.h). Disposable: `satchel calibrate` makes them again.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kvcache/profile/key_bases.h"
#include "runtime/profile/profile_file.h"

namespace satchel::runtime {

std::span<const ShippedFile> shipped_key_bases();

using FoundBases = FoundProfile<kvcache::KeyBases>;  // damage: KEY_BASES
// Empty `dir`: shipped ones only.
FoundBases find_key_bases(const std::filesystem::path& dir, const std::string& fingerprint,
                          const ModelConfig& config);
// Writes to dir atomically; replaces an older file. Errors: storage, KEY_BASES.
Result<void> save_key_bases(const std::filesystem::path& dir, const kvcache::KeyBases& bases);
// Writes to any file, likewise.
Result<void> write_key_bases(const std::filesystem::path& path, const kvcache::KeyBases& bases);
std::filesystem::path key_bases_file(const std::filesystem::path& dir,
                                     const std::string& fingerprint);

}  // namespace satchel::runtime
