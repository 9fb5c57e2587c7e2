// The formats, each in a file of its own. For document_text.cpp, in the child; and for tests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::app {

inline constexpr std::size_t kDocumentTextBytesMax = std::size_t{16} << 20;  // of a message

class ZipFile;

Result<std::string> html_text(std::string_view html);
Result<std::string> docx_text(const ZipFile& file);
Result<std::string> epub_text(const ZipFile& file);
Result<std::string> pdf_text(const std::filesystem::path& file);

Error not_whole(std::string_view what);
Error too_much_text();
// Of a program that ended by a signal (128 + its number), or said nothing that is known.
Error without_a_word(int exit_code);
// Why the file's text is not there; where the child was ended, what to do.
Error not_read(const std::string& file, Error why);

}  // namespace satchel::app
