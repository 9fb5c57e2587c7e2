// `satchel eval agreement`: next-token agreement and KL divergence along texts, against the exact
// cache, by how far behind the prompt.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/eval/commands/task.h"

namespace satchel::app {

struct AgreementOptions {
  std::vector<std::string> texts;                // --text
  std::size_t n_tokens = 2000, n_prompt = 1500;  // --tokens, --prompt-tokens
  std::size_t n_at_once = 1;                     // --at-once
};
void add_led_options(CLI::App& command, AgreementOptions& options);  // all but --text
void add_agreement_options(CLI::App& command, AgreementOptions& options);
// Errors: those of read_text_file; PARAM.
Result<TaskPtr> make_agreement_task(const AgreementOptions& options);

}  // namespace satchel::app
