// Facts in a text, asked for without any chat format, so that any model can be asked. The file, one
// context a line, JSON:
//   {"context": "… A man called Carl Corwin came to the door. …", "questions": [
//     {"ask": "\n\nThe full name of Carl is Carl", "value": "Corwin"}, …]}
// `ask` goes on where the context ends; a right answer begins with `value`. Other keys are for
// those who write the file.
//   errors  DOC_FORMAT with file:line and what is missing there, or where nothing is asked; those of
//           read_text_file
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::app {

struct Needle {
  std::string ask;    // goes on where the context ends: "\n\nThe full name of Ada is Ada"
  std::string value;  // what a right answer begins with: "Corwin"
};
struct NeedleContext {
  std::string text;
  std::vector<Needle> needles;
};
Result<std::vector<NeedleContext>> read_needle_file(const std::string& path);

// Whether `value` is the first thing said: blanks may stand before it, no letter after it.
bool says_first(std::string_view said, std::string_view value);
// No further token can change what says_first() says, and the word is whole for people to see.
bool said_enough(std::string_view said, std::string_view value);

}  // namespace satchel::app
