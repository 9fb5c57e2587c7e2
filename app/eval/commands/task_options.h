// The tasks of `satchel eval`: their options, how a command line takes them, and how they are made.
//   recall     what a recipe still answers rightly about notes that were read
//   needle     what it still holds of the facts in a text, with any model
//   agreement  next-token agreement and KL divergence along texts, against the exact cache, by how
//              far behind the prompt
//   longbench  LongBench, from the files that the user has
//   chat       what a chat of many messages still knows of what was said in it, by age
//   errors     of files, before a model is opened (recall_file.h, needle_file.h, longbench_file.h,
//              chat_file.h, read_text_file); PARAM: there is no such set or family, or it does not
//              fit the texts
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/eval/commands/recall_file.h"
#include "app/eval/commands/task.h"
#include "app/eval/needle_tasks/family.h"

namespace satchel::app {

template <class Names>
CLI::Validator one_of_names(const Names& names) {
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

struct RecallOptions {
  std::string file;                  // FILE; "": the bundled model's held-out questions
  std::vector<std::string> sets;     // --sets; empty: all
  std::size_t n_conversations = 0;   // --conversations, of each set; 0: all
  std::string question = "unknown";  // --question, while compressing: unknown or known
  bool without_notes = false;        // --without-notes
  std::size_t n_together = 1;        // --together, conversations in one chat
};
void add_question_options(CLI::App& command, RecallOptions& options);  // --sets … --question
void add_recall_options(CLI::App& command, RecallOptions& options);
// Those of the file that are asked, one of them at least.
Result<std::vector<RecallConversation>> recall_conversations(const RecallOptions& options);
Result<TaskPtr> make_recall_task(const RecallOptions& options);

// Far enough apart that no two runs of different --seed share a text.
inline constexpr std::uint64_t kSeedStride = 1'000'003;

struct NeedleOptions {
  std::string file;                            // --file; "": texts that are made
  std::vector<std::string> families;           // --families; empty: all
  std::vector<std::size_t> n_tokens = {1300};  // --length, each family at each
  std::size_t n_contexts = 8;                  // --contexts, of each family and length
  std::uint64_t seed = 1;                      // --seed
  std::string question = "unknown";            // --question, while compressing: unknown or known
  bool in_turn = false;          // --in-turn: five questions, one before what waits is compressed
  bool without_context = false;  // --without-notes: asks an empty cache: what can be guessed
  bool merges_layers = false;    // --merge-layers
  std::size_t window = 0;        // --window; 0: all
  double on_disk = 0;            // --on-disk, memory limit, share of fp16; 0: all in memory
};
// Those of texts that are made, which do not go with a `file`.
void add_made_options(CLI::App& command, NeedleOptions& options, CLI::Option* file);
void add_needle_options(CLI::App& command, NeedleOptions& options);
// Of a wished length in the model's tokens.
//   errors  also CONTEXT_FULL
Result<eval::NeedleContext> make_needle_context_for(const runtime::Engine& engine,
                                                    const eval::NeedleFamily& family,
                                                    const eval::NeedleSpec& spec);
std::span<const Measure> needle_measures();  // right answers, and how likely they were
// What an answer depends on, for an item's log.
std::string content_of(const eval::NeedleContext& context);
Result<TaskPtr> make_needle_task(const NeedleOptions& options);

struct AgreementOptions {
  std::vector<std::string> texts;                // --text
  std::size_t n_tokens = 2000, n_prompt = 1500;  // --tokens, --prompt-tokens
  std::size_t n_at_once = 1;                     // --at-once
  bool merges_layers = false;                    // --merge-layers
};
// What MiniCache would cost and save, by the exact recipe.
CLI::Option* add_merge_option(CLI::App& command, bool& merges_layers);
void add_scoring_options(CLI::App& command, AgreementOptions& options);  // all but --text
void add_agreement_options(CLI::App& command, AgreementOptions& options);
Result<TaskPtr> make_agreement_task(const AgreementOptions& options);

struct LongBenchOptions {
  std::vector<std::string> files;  // FILE …
  std::size_t n_examples = 0;      // --examples, of each file; 0: all
  std::size_t n_tokens = 0;        // --length, of a prompt; 0: what the model's context leaves
  std::string question = "known";  // --question, while compressing: known or unknown
};
void add_longbench_options(CLI::App& command, LongBenchOptions& options);
Result<TaskPtr> make_longbench_task(const LongBenchOptions& options);

struct ChatOptions {
  std::string file;                            // --file; "": chats that are made
  std::size_t n_examples = 0;                  // --examples, of the file; 0: all
  std::string abilities = "notes";             // --abilities, of chat_abilities()
  std::vector<std::size_t> n_messages = {60};  // --messages
  std::size_t n_chats = 4;                     // --chats, of each number of messages
  std::size_t n_questions = 4;                 // --questions, of each age group
  std::uint64_t seed = 1;                      // --seed
  std::string beyond = "rolling";              // --beyond, of kBeyondNames
  std::size_t n_context = 0;                   // --context, tokens; 0: the model's
  double held = 0;                             // --held, share of the chat's fp16 bytes; 0: any
};
void add_chat_options(CLI::App& command, ChatOptions& options);
Result<TaskPtr> make_chat_task(const ChatOptions& options);

}  // namespace satchel::app
