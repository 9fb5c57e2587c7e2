#include "app/documents/document_text.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <utility>

#include "app/child.h"
#include "app/documents/formats.h"
#include "app/documents/zip_file.h"
#include "runtime/tokenizer/utf8.h"

namespace satchel::app {
namespace fs = std::filesystem;
namespace {

constexpr const char* kChild = "document-text";
// What the child says first; then comes the text, or a code, a line end and a message.
constexpr std::string_view kOk = "ok\n", kFailed = "failed\n";
constexpr std::size_t kSaidBytesMax = kDocumentTextBytesMax + 4096;
constexpr rlim_t kMemoryMax = rlim_t{1} << 30, kSecondsMax = 60;
constexpr std::chrono::minutes kTimeMax{2};  // a disk, or a network's, that does not answer

// The last three are HTML, which nothing else says of a file.
constexpr auto kEndings =
    std::to_array<std::string_view>({"pdf", "docx", "epub", "html", "htm", "xhtml"});

std::string ending_of(const fs::path& file) {
  std::string ending = file.extension().string();
  if (!ending.empty()) ending.erase(0, 1);
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  return ending;
}

bool is_html(const fs::path& file) {
  const auto html = std::span(kEndings).last<3>();
  return std::ranges::find(html, ending_of(file)) != html.end();
}

std::string first_bytes(const fs::path& file) {
  std::string bytes(8, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

bool is_pdf(std::string_view bytes) {
  return bytes.starts_with("%PDF-");
}
bool is_zip(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04");
}

Result<std::string> zipped_text(const fs::path& path) {
  SATCHEL_TRY_ASSIGN(const ZipFile file, ZipFile::open(path));
  if (file.has("word/document.xml")) return docx_text(file);
  if (file.has("META-INF/container.xml")) return epub_text(file);
  return Error{ErrorKind::unsupported, "DOC_TYPE", "It is no Word (.docx) and no EPUB file."};
}

Result<std::string> text_of(const fs::path& file) {
  std::error_code unknown;
  if (!fs::is_regular_file(file, unknown))
    return Error{ErrorKind::invalid, "DOC_READ", "It is no regular file."};
  const std::uintmax_t n_bytes = fs::file_size(file, unknown);
  if (unknown || n_bytes > kDocumentFileBytesMax)
    return Error{ErrorKind::invalid, "DOC_LIMIT", "It is larger than 100 MiB."};
  const std::string bytes = first_bytes(file);
  if (is_pdf(bytes)) return pdf_text(file);
  if (is_zip(bytes)) return zipped_text(file);
  if (bytes.starts_with("\xd0\xcf\x11\xe0"))
    return Error{ErrorKind::unsupported, "DOC_TYPE",
                 "It is an old Word file (.doc), or protected by a password. Save it as .docx "
                 "without one."};
  if (!is_html(file))
    return Error{ErrorKind::unsupported, "DOC_TYPE",
                 "It is none of the documents that its name says."};
  std::string html(static_cast<std::size_t>(n_bytes), '\0');
  std::ifstream in(file, std::ios::binary);
  if (!in.read(html.data(), static_cast<std::streamsize>(html.size())))
    return Error{ErrorKind::storage, "DOC_READ", "It cannot be read to its end."};
  return html_text(html);
}

Result<std::string> checked_text(const fs::path& file) {
  SATCHEL_TRY_ASSIGN(const std::string raw, text_of(file));
  if (raw.size() > kDocumentTextBytesMax) return too_much_text();
  std::string text;
  runtime::append_utf8(raw, text);
  std::erase_if(text, [](char c) { return c == '\0'; });
  if (text.find_first_not_of(" \t\r\n\f") == text.npos)
    return Error{ErrorKind::corrupt, "DOC_NO_TEXT",
                 "It has no text. If it is a scan, run text recognition (OCR) on it first."};
  return text;
}

void let_write_files(bool may) {
  rlimit size{};
  (void)getrlimit(RLIMIT_FSIZE, &size);
  size.rlim_cur = may ? size.rlim_max : 0;
  (void)setrlimit(RLIMIT_FSIZE, &size);
}

// Whatever a parser does wrong, it does with these.
void limit_this_process() {
  const auto limit = [](auto what, rlim_t most) {
    const rlimit both{.rlim_cur = most, .rlim_max = most + 1};  // first a signal that says which
    (void)setrlimit(what, &both);
  };
  limit(RLIMIT_AS, kMemoryMax);
  limit(RLIMIT_CPU, kSecondsMax);
  limit(RLIMIT_CORE, 0);
  let_write_files(false);
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

// How the child tells the parent of which kind its error is.
char digit_of(ErrorKind kind) {
  return static_cast<char>('0' + static_cast<int>(kind));
}
ErrorKind kind_of(char digit) {
  const int kind = digit - '0';
  const bool is_one = kind >= 0 && kind <= static_cast<int>(ErrorKind::internal);
  return is_one ? static_cast<ErrorKind>(kind) : ErrorKind::corrupt;
}

}  // namespace

Error not_whole(std::string_view what) {
  return {ErrorKind::corrupt, "DOC_FORMAT",
          "It is damaged: it is no whole " + std::string(what) + " file."};
}

Error without_a_word(int exit_code) {
  const std::string why = exit_code == 128 + SIGXCPU ? "it took more than a minute"
                                                     : "it may be damaged, or far too large";
  return {ErrorKind::corrupt, "DOC_READ", "Its text could not be read: " + why + "."};
}

Error not_read(const std::string& file, Error why) {
  const std::string name = "\"" + file + "\"";
  if (why.code == "PROCESS_LIMIT") why = too_much_text();
  if (why.code == "PROCESS_TIME")
    return {why.kind, "DOC_TIME",
            "Reading " + name +
                " took more than 2 minutes, so it was stopped. Use a smaller part of it, or save "
                "its text as a .txt file."};
  if (why.code == "STOPPED")
    why.message = "Reading " + name + " was stopped.";
  else
    why.message = name + ": " + why.message;
  return why;
}

Error too_much_text() {
  return {ErrorKind::invalid, "DOC_LIMIT",
          "Its text is larger than 16 MiB. Use a smaller part of it."};
}

std::span<const std::string_view> rich_endings() {
  return kEndings;
}

bool is_rich_document(const fs::path& file) {
  const std::string bytes = first_bytes(file);
  return is_html(file) || is_pdf(bytes) || is_zip(bytes);
}

Result<std::string> document_text(const fs::path& file, std::stop_token stop) {
  std::error_code unknown;
  const fs::path whole = fs::absolute(file, unknown);
  Result<ChildOutput> ran =
      run_self({kChild, (unknown ? file : whole).string()},
               {.bytes_max = kSaidBytesMax, .time_max = kTimeMax, .stop = std::move(stop)});
  const std::string name = file.filename().string();
  if (!ran.ok()) return not_read(name, ran.error());
  ChildOutput& said = *ran;
  if (said.exit_code == 0 && said.text.starts_with(kOk) && runtime::is_utf8(said.text)) {
    said.text.erase(0, kOk.size());
    return std::move(said.text);
  }
  Error why = without_a_word(said.exit_code);
  const std::size_t end = said.text.find('\n', kFailed.size());
  const bool is_whole = end != said.text.npos && end + 1 < said.text.size();
  if (said.text.starts_with(kFailed) && is_whole && runtime::is_utf8(said.text)) {
    why.code = said.text.substr(kFailed.size(), end - kFailed.size());
    why.kind = kind_of(said.text[end + 1]);
    why.message = said.text.substr(end + 2);
  }
  return not_read(name, std::move(why));
}

int document_child(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != kChild) return -1;
  limit_this_process();
  const Result<std::string> text = checked_text(argv[2]);
  const std::string said = text.ok() ? std::string(kOk) + *text
                                     : std::string(kFailed) + text.error().code + "\n" +
                                           digit_of(text.error().kind) + text.error().message;
  let_write_files(true);  // where standard output is one
  return std::fwrite(said.data(), 1, said.size(), stdout) == said.size() && std::fflush(stdout) == 0
             ? 0
             : 1;
}

}  // namespace satchel::app
