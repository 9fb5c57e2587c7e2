// Files of questions: a JSON object a line. What is wrong with a line is said without its subject
// ("has no \"ask\"") by who reads it, and with file:line by for_each_line.
//   errors  DOC_FORMAT; those of read_text_file
#pragma once

#include <functional>
#include <string>

#include "app/cli/console.h"

namespace satchel::app {

// corrupt, DOC_FORMAT.
Error wrong_line(std::string what);
// Fails where it is missing or empty.
Result<std::string> text_at(const Json& object, const char* key);
// "" where it is missing.
Result<std::string> optional_text_at(const Json& object, const char* key);
// Fails where it is missing or no array. The pointer is into `object`.
Result<const Json*> array_at(const Json& object, const char* key);
// Reads the whole file and calls `read` with the object of each line, in order.
Result<void> for_each_line(const std::string& path,
                           const std::function<Result<void>(const Json&)>& read,
                           std::uintmax_t bytes_max = kTextFileBytesMax);

}  // namespace satchel::app
