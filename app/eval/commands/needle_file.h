// Facts in a text, asked for without any chat format, so that any model can be asked. The file, one
// context a line, JSON:
//   {"context": "… A man called Carl Corwin came to the door. …", "questions": [
//     {"ask": "\n\nThe full name of Carl is Carl", "value": "Corwin"}, …]}
// `ask` goes on where the context ends; a right answer begins with `value`. In its place may stand
// "values", a list of which all should be said; "context" may be a list, each part of it compressed
// before the next is read. "ability" names what is asked for, to be counted apart. Other keys are
// for those who write the file.
//   errors  DOC_FORMAT with file:line and what is missing there, or where nothing is asked; those
//           of read_text_file
#pragma once

#include <string>
#include <vector>

#include "app/eval/needle_tasks/needle.h"
#include "kernels/base/result.h"

namespace satchel::app {

Result<std::vector<eval::NeedleContext>> read_needle_file(const std::string& path);

}  // namespace satchel::app
