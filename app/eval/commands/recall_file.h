// The questions of `satchel eval recall`: one conversation a line, JSON.
//   {"set": "names", "notes": "…", "exchanges": [
//     {"say": "Also: …", "answer": "Noted."},
//     {"ask": "Where does X live?", "value": "Oslo", "kind": "fact"}, …]}
// What is said is answered too, but not judged. What is asked is answered rightly when the answer
// contains `value`. `set` and `kind` are free words to count by and may be left out; other keys are
// for those who write the file.
//   errors  DOC_FORMAT with file:line and what is missing there; those of read_text_file
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::app {

struct RecallExchange {
  std::string text, value, kind;  // value is empty where the answer is not judged
  bool judged() const { return !value.empty(); }
};
struct RecallConversation {
  std::size_t number = 0;  // in the file, from 0
  std::string set, notes;
  std::vector<RecallExchange> exchanges;
};
// The whole file is looked through before the first question is asked of a model.
Result<std::vector<RecallConversation>> read_recall_file(const std::string& path);

}  // namespace satchel::app
