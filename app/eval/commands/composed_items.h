// What `satchel eval compose` measures: the user's files as documents; notes of the bundled model's
// questions, or texts that are made with facts in them, each cut into documents at ends of
// sentences, which then stand in another order. Or a made text into which a sentence is inserted
// (PIE, arXiv:2407.03157).
//   errors  of files, before a model is opened; PARAM: too few documents; those of needles, recall
//           and tokenizer
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "app/eval/commands/recall_file.h"
#include "app/eval/measure/composition.h"
#include "runtime/engine.h"

namespace satchel::app {

struct ComposedOptions {
  std::vector<std::string> files, asked;  // --text: a document each; --ask
  std::vector<std::string> sets;          // --sets of the bundled model's questions
  std::size_t n_conversations = 4;        // --conversations, of each set
  std::vector<std::string> families = {"names"};
  std::size_t n_documents = 4, n_tokens = 1000;  // --documents, --length of each
  std::size_t n_texts = 4;                       // --texts that are made
  bool edits = false;                            // --edit
  std::uint64_t seed = 1;
};
void add_composed_options(CLI::App& command, ComposedOptions& options);

class ComposedSource {
 public:
  static Result<ComposedSource> open(const ComposedOptions& options);
  std::size_t n_items() const;
  Result<eval::Composition> item(const runtime::Engine& engine, std::size_t index) const;

 private:
  Result<eval::Composition> of_files(const runtime::Engine& engine) const;
  Result<eval::Composition> of_notes(const runtime::Engine& engine, std::size_t index) const;
  Result<eval::Composition> made(const runtime::Engine& engine, std::size_t index) const;

  // A sentence behind the first tenth, asked for as well.
  Result<void> edit(const runtime::Engine& engine, const std::vector<std::int32_t>& text,
                    eval::Composition& item) const;

  ComposedOptions options_;
  std::vector<std::string> contents_;              // of files
  std::vector<RecallConversation> conversations_;  // of sets
};

}  // namespace satchel::app
