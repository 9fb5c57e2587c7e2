#include "app/cli/eval/answer_sheet.h"

#include <system_error>

namespace satchel::app {
namespace fs = std::filesystem;

Result<std::unique_ptr<AnswerSheet>> AnswerSheet::open(const std::string& path) {
  std::error_code error;
  // A device or folder would be replaced by the file.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return Error{ErrorKind::storage, "STORAGE", "\"" + path + "\" is there and is no file."};
  auto sheet = std::make_unique<AnswerSheet>(path, path + ".part");
  if (!sheet->out_.is_open())
    return Error{ErrorKind::storage, "STORAGE",
                 "\"" + path + "\" cannot be written. Nothing was asked."};
  return sheet;
}

AnswerSheet::AnswerSheet(fs::path path, fs::path part)
    : path_(std::move(path)), part_(std::move(part)), out_(part_, std::ios::binary) {}

AnswerSheet::~AnswerSheet() {
  if (!out_.is_open()) return;
  out_.close();
  std::error_code ignored;
  fs::remove(part_, ignored);
}

void AnswerSheet::add(const Json& line) {
  out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

Result<void> AnswerSheet::finish() {
  out_.close();
  std::error_code error;
  if (out_.good()) fs::rename(part_, path_, error);
  if (out_.good() && !error) return {};
  fs::remove(part_, error);
  return Error{ErrorKind::storage, "STORAGE",
               "The answers were not written to \"" + path_.string() +
                   "\": the disk may be full. A file that was there is unchanged."};
}

}  // namespace satchel::app
