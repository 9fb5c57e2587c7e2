// `satchel eval recall`: what a recipe still answers rightly about notes that were read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/eval/commands/task.h"

namespace satchel::app {

struct RecallOptions {
  std::string file;                  // FILE; "": the bundled model's held-out questions
  std::vector<std::string> sets;     // --sets; empty: all
  std::size_t n_conversations = 0;   // --conversations, of each set; 0: all
  std::string question = "unknown";  // --question, while compressing: unknown or known
  bool without_notes = false;        // --without-notes
};
void add_question_options(CLI::App& command, RecallOptions& options);  // --sets … --question
void add_recall_options(CLI::App& command, RecallOptions& options);
// Errors: those of read_recall_file; PARAM where a set is not in the file; DOC_FORMAT where nothing
// is asked.
Result<TaskPtr> make_recall_task(const RecallOptions& options);

}  // namespace satchel::app
