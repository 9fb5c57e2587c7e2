// The key of an encrypted store: from a file, or typed. Never an argument, which others see, nor in
// a log.
//   errors  LIBRARY_KEY
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "kernels/base/result.h"

namespace satchel::app {

// Of the option --key-file.
inline constexpr const char* kKeyFileAbout =
    "File that holds the passphrase of encrypted chats; without it, Satchel asks";

// The file without the end of its line. One that others may read is refused.
Result<std::string> read_key_file(const std::filesystem::path& file);

// Asks at the terminal, which does not show what is typed. None: there is no terminal, or nothing
// was typed.
std::optional<std::string> ask_for_key(const std::string& question);

}  // namespace satchel::app
