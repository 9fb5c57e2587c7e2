// PDF: what pdftotext (Poppler) makes of it. It is a program of its own, in the child's limits and
// process group, and part of no library here.
#include "app/child.h"
#include "app/documents/formats.h"
#include "runtime/chat/page_marks.h"

namespace satchel::app {
namespace {

constexpr std::string_view kBlank = " \t\r\n\f";

// Pages end with a form feed.
std::string with_page_marks(std::string_view text) {
  std::string out;
  for (std::size_t page = 1, at = 0; at < text.size(); ++page) {
    const std::size_t end = std::min(text.find('\f', at), text.size());
    std::string_view words = text.substr(at, end - at);
    const std::size_t last = words.find_last_not_of(kBlank);
    if (last != words.npos) {
      if (!out.empty()) out += '\n';
      out += runtime::page_mark(page) + '\n';
      out += words.substr(0, last + 1);
      out += '\n';
    }
    at = end + 1;
  }
  return out;
}

}  // namespace

Result<std::string> pdf_text(const std::filesystem::path& file) {
  const Result<ChildOutput> ran =
      run_program("pdftotext", {"-q", "-enc", "UTF-8", "-eol", "unix", "--", file.string(), "-"},
                  {.bytes_max = 4 * kDocumentTextBytesMax});
  if (!ran.ok() && ran.error().kind == ErrorKind::not_found)
    return Error{ErrorKind::unsupported, "DOC_TYPE",
                 "Reading a PDF needs pdftotext, which is not installed (Debian: poppler-utils)."};
  if (!ran.ok() && ran.error().code == "PROCESS_LIMIT") return too_much_text();
  if (!ran.ok()) return ran.error();
  // 1: the file could not be opened, 3: its owner forbids to take its text.
  if (ran->exit_code == 3)
    return Error{ErrorKind::unsupported, "DOC_PASSWORD",
                 "The PDF does not allow its text to be copied."};
  if (ran->exit_code == 1)
    return Error{ErrorKind::corrupt, "DOC_FORMAT",
                 "The PDF is damaged, or asks for a password. Save a copy without one."};
  if (ran->exit_code > 128) return without_a_word(ran->exit_code);
  if (ran->exit_code != 0) return not_whole("PDF");
  return with_page_marks(ran->text);
}

}  // namespace satchel::app
