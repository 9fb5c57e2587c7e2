// Recall: what a recipe still answers rightly about notes that were read.
#pragma once

#include <string>
#include <vector>

#include "app/cli/answer_sheet.h"
#include "app/cli/eval_rows.h"
#include "app/cli/recall_file.h"
#include "runtime/engine.h"

namespace satchel::app {

struct RecallOptions {
  std::string file;                 // --recall; "" is not given
  std::vector<std::string> sets;    // --sets; empty: all
  std::size_t n_conversations = 0;  // --conversations, of each set; 0: all
};

// The file's conversations that the options choose. Errors: those of read_recall_file; invalid,
// PARAM where a set is not in the file; DOC_FORMAT where nothing is asked.
Result<std::vector<RecallConversation>> chosen_conversations(const RecallOptions& options);

struct RecallTask {
  const std::vector<RecallConversation>& conversations;
  bool without_notes = false;
  AnswerSheet* sheet = nullptr;  // not owned; nullptr: answers are not kept
};
// Reads and asks every conversation in a session of its own, greedily. The row of `satchel eval
// --json`, "groups" in order of first appearance. Where the context is too short for the
// notes or a question, the answer is wrong; one that it ends within is judged as far as it came.
// Both are counted in "cut".
Result<Json> measure_recall(runtime::Engine& engine, const Variant& variant,
                            const RecallTask& task);
// That row for people: a line, and one for each set where there are several.
std::string recall_text(const Json& row);

}  // namespace satchel::app
