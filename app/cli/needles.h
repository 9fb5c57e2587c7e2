// `satchel eval --needles`: what a recipe still holds of the names in a text, asked without any
// chat format (runtime/measure/needles.h). The file, one context a line, JSON:
//   {"context": "… A man called Carl Corwin came to the door. …", "questions": [
//     {"ask": "\n\nThe full name of Carl is Carl", "value": "Corwin"}, …]}
// `ask` goes on where the context ends; a right answer begins with `value`. Other keys are for
// those who write the file.
#pragma once

#include <string>
#include <vector>

#include "app/cli/answer_sheet.h"
#include "app/cli/eval_rows.h"
#include "runtime/engine.h"
#include "runtime/measure/needles.h"

namespace satchel::app {

// errors  DOC_FORMAT with file:line and what is missing there, or where nothing is asked; those of
//         read_text_file
Result<std::vector<runtime::NeedleContext>> read_needles_file(const std::string& path);

struct NeedleQuestions {
  const std::vector<runtime::NeedleContext>& contexts;
  bool without_contexts = false;
  AnswerSheet* sheet = nullptr;  // not owned; nullptr: answers are not kept
};
// The row of `satchel eval --json`.
Result<Json> needles_row(runtime::Engine& engine, const Variant& variant,
                         const NeedleQuestions& questions);
// That row for people: a line.
std::string needles_text(const Json& row);

}  // namespace satchel::app
