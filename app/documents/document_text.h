// The text of a document file: HTML, Word (.docx), EPUB, and PDF by the program pdftotext. What it
// gives is Markdown in the small: headings, lists, rows of tables; of a PDF, a line "[Page 3]"
// where a page begins, so that an answer can say where it has something from.
//   in a child  the file is somebody else's and its parsers are large, so they run in a process of
//               their own: 1 GiB of memory, 60 s of processor time, 2 minutes in all, no files
//               written, no network asked. What happens to it does not happen to a chat
//   limits      docs/reliability.md, "Limits"
//   errors      DOC_TYPE, DOC_FORMAT, DOC_LIMIT, DOC_TIME, DOC_NO_TEXT, DOC_PASSWORD, STOPPED;
//               DOC_READ where the child ended without a word
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::app {

inline constexpr std::size_t kDocumentFileBytesMax = std::size_t{100} << 20;

// Whether the file is one of those, by its first bytes, or HTML by its ending.
bool is_rich_document(const std::filesystem::path& file);
// Endings of their names: "pdf", "docx", "epub", "html" …
std::span<const std::string_view> rich_endings();

// Its text, read by a child of this program. `stop` ends the child, and what it started, at once.
Result<std::string> document_text(const std::filesystem::path& file, std::stop_token stop);

// What the child does; both programs call it first of all. -1: this is no such child.
int document_child(int argc, char** argv);

}  // namespace satchel::app
