// Encrypted databases, where SQLite is SQLCipher (SATCHEL_SQLCIPHER): every page, those of logs and
// journals too.
//   key     a passphrase, or 32 bytes as x'64 hexadecimal digits', which takes no time to derive
//   source  zetetic.net/sqlcipher/sqlcipher-api
#pragma once

#include <filesystem>
#include <string>

#include "kernels/base/result.h"

namespace satchel::storage {

bool has_cipher();

// Whether the file begins as a random number does: an encrypted one has no other sign.
bool seems_encrypted(const std::filesystem::path& file);

// Whether the key, or none, opens the file. Writes nothing and takes no lock; where a log was left,
// SQLite may make its index. A file that is missing or empty takes any key.
//   errors  LIBRARY_KEY
Result<void> check_key(const std::filesystem::path& file, const std::string& key,
                       const std::string& vfs);

}  // namespace satchel::storage
