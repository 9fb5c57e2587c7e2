// What a model thinks before it answers, in the terminal: whether it does, and what is seen of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "app/cli/console.h"
#include "runtime/session/session.h"
#include "runtime/tokenizer/thinking.h"

namespace satchel::app {

// --think --show-thoughts; both values outlive the parse.
void add_thinking_options(CLI::App& command, runtime::Thinking& thinking, bool& shows);
// "on", "off", "auto"; PARAM: another word.
Result<runtime::Thinking> thinking_named(const std::string& name);
// "Thought for 4.2 s (123 tokens). Use --show-thoughts to see the thoughts."
std::string describe(const runtime::Thoughts& thoughts, bool shown);

// Thoughts as they come: folded into one line that says for how long, or printed.
class ThoughtLine {
 public:
  ThoughtLine(Console& console, bool shows) : console_(console), shows_(shows) {}
  void add(std::string_view text);
  void end();  // the answer begins

 private:
  Console& console_;
  SystemClock clock_;
  double began_ms_ = -1;
  bool shows_, is_open_ = false;
};

}  // namespace satchel::app
