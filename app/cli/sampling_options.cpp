#include "app/cli/sampling_options.h"

#include "app/cli/options.h"

namespace satchel::app {
namespace {

// A number that a chat may have instead.
template <class Number>
CLI::Option* add_kept(CLI::App& command, const char* names, std::optional<Number>& value,
                      Number usual, const char* about) {
  return command.add_option(names, value, about)->default_str(CLI::detail::to_string(usual));
}

void add_chance_options(CLI::App& command, SamplingOptions& options) {
  const runtime::Sampling usual;
  add_kept(command, "--temperature", options.temperature, usual.temperature,
           "Sampling temperature; 0: greedy");
  add_kept(command, "--top-k", options.top_k, usual.top_k,
           "Sample from the k most likely tokens; 0: off")
      ->check(whole_number());
  add_kept(command, "--top-p", options.top_p, usual.top_p,
           "Sample from the top share p of probability; 1: off");
  add_kept(command, "--min-p", options.min_p, usual.min_p,
           "Minimum probability, relative to the likeliest token; 0: off");
  add_kept(command, "--repetition-penalty", options.repetition_penalty, usual.repetition_penalty,
           "Penalty on repeated tokens; 1: off");
  command.add_option("--seed", options.rest.seed, "Random seed; the same seed gives the same text")
      ->check(whole_number())
      ->capture_default_str();
}

}  // namespace

runtime::Sampling SamplingOptions::over(const runtime::Sampling& saved) const {
  runtime::Sampling sampling = rest;
  sampling.temperature = temperature.value_or(saved.temperature);
  sampling.top_k = top_k.value_or(saved.top_k);
  sampling.top_p = top_p.value_or(saved.top_p);
  sampling.min_p = min_p.value_or(saved.min_p);
  sampling.repetition_penalty = repetition_penalty.value_or(saved.repetition_penalty);
  sampling.n_tokens_max = n_tokens_max.value_or(saved.n_tokens_max);
  sampling.stops = saved.stops;
  return sampling;
}

void add_sampling_options(CLI::App& command, SamplingOptions& options) {
  add_chance_options(command, options);
  add_kept(command, "-n,--max-tokens", options.n_tokens_max, runtime::Sampling().n_tokens_max,
           "Maximum tokens per answer, without thoughts; 0: no limit")
      ->check(whole_number());
  command.add_flag("!--allow-loops", options.rest.ends_loops,
                   "Do not stop an answer that keeps repeating itself");
  command.add_flag(
      "!--no-drafts", options.rest.drafts,
      "Generate token by token, without drafts from the text before; the answer is the "
      "same");
  command
      .add_option(
          "--self-drafts", options.rest.self_draft_pages,
          "Where the text before gives no drafts, let the model draft from so many pages of "
          "each lane of its cache; the answer is the same. Pays only behind long texts")
      ->type_name("PAGES")
      ->check(CLI::Range(1, 10'000));
}

}  // namespace satchel::app
