// Where a program finds what was installed with it.
#pragma once

#include <filesystem>

namespace satchel::app {

// The program's own folder, or the one above where that is called "bin". A program that was put
// elsewhere, into /tmp say, must not take files from beside its folder, where others may have put
// theirs. "" where the system does not say where the program is.
std::filesystem::path installed_root(const std::filesystem::path& program);

}  // namespace satchel::app
