// SamplingOptions: how answers are sampled, as far as the command line says it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>

#include "runtime/sampler/sampler.h"

namespace satchel::app {

struct SamplingOptions {
  // What a chat keeps (runtime/chat/answer_settings.h): what is not given is the chat's own.
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::size_t> top_k, n_tokens_max;
  // What no chat keeps: seed, drafts, loops, the grammar.
  runtime::Sampling rest;

  // With these over what a chat has `saved`; stop texts are always the chat's.
  runtime::Sampling over(const runtime::Sampling& saved) const;
};

// --temperature … --seed; the help shows the defaults of a new chat.
void add_sampling_options(CLI::App& command, SamplingOptions& options);

}  // namespace satchel::app
