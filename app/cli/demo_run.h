// What `satchel demo` asks and measures: the notes under one preset, and the presets side by side.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/cli/console.h"
#include "app/cli/conversation.h"
#include "app/cli/options.h"

namespace satchel::app {

// What a saved demo is called.
inline constexpr std::string_view kDemoChat = "demo";

struct DemoAnswers {
  std::vector<std::string> texts;
  std::vector<bool> correct;
  std::size_t n_correct() const;
  std::string score() const;  // "4 of 5 right"
};

// One line for people, without its end.
using Say = std::function<void(const std::string& line)>;

//   errors  STOPPED, and those of the session
Result<DemoAnswers> ask_all(Conversation& conversation, const Say& say);
Error demo_stopped();

// The notes under one preset or recipe: what its cache took right after reading, and the answers.
struct DemoRun {
  std::string name;  // "compact"; with --keep "compact 30.0 %"
  std::string recipe;
  double keep = 1;
  runtime::Fidelity fidelity;
  kvcache::CacheStats stats;
  DemoAnswers answers;

  double body_saved() const;  // share of the body's bytes in fp16
  Json figures() const;
};

struct ReadNotes {
  std::unique_ptr<Conversation> conversation;
  DemoRun run;
};
// "compact", or with a --keep of its own "compact 30.0 %".
std::string demo_name(const Options& options);
// Reads the notes and asks all questions.
//   keep  in a saved chat
Result<ReadNotes> read_and_ask(const Options& options, bool keep, const Say& say, Console& console);

// Prints a table of all presets on the same notes and questions. Those that are not in `known` are
// measured now; a known run that is no preset gets a row of its own. Returns the rows.
Result<Json> compare_presets(const Options& options, std::span<const DemoRun> known,
                             Console& console);

}  // namespace satchel::app
