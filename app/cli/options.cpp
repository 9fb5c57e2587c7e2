#include "app/cli/options.h"

#include <charconv>

namespace satchel::app {
namespace {

constexpr std::uint64_t kThreadsMax = 256;  // as many as the cpu backend takes

template <class Number>
bool is_number(const std::string& text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const bool is_bounded = most != std::numeric_limits<std::uint64_t>::max();
  const std::string wanted = "a whole number from " + std::to_string(least) +
                             (is_bounded ? " to " + std::to_string(most) : " on");
  return CLI::Validator(
      [=](const std::string& text) {
        std::uint64_t value = 0;
        const bool fits = is_number(text, value) && value >= least && value <= most;
        return fits ? std::string() : "\"" + text + "\" is not " + wanted;
      },
      "");
}

void add_output_options(CLI::App& command, Options& options) {
  command.add_flag("--json", options.json, "One JSON document on stdout");
  command.add_flag("-q,--quiet", options.quiet, "No progress, no notes; warnings and errors stay");
}

void add_store_option(CLI::App& command, Options& options) {
  command
      .add_option("--store", options.store,
                  "Folder for chats and saved caches instead of the user's own")
      ->type_name("DIR");
}

void add_model_options(CLI::App& command, Options& options) {
  command
      .add_option("-m,--model", options.model,
                  "GGUF file, or the beginning of a name in the model folder; default: the bundled "
                  "notes-mini")
      ->type_name("FILE");
  command
      .add_option("--template", options.chat_template,
                  "Chat template, where the file's own is not recognised")
      ->type_name("NAME");
  command
      .add_option(
          "--backend", options.backend,
          "auto (the GPU where it can be used, else the CPU), cuda, cpu, or reference (slow, "
          "plain loops)")
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--cpu-level", options.cpu_level, "Force an instruction level: avx2, avx512 …")
      ->type_name("NAME");
  command
      .add_option("--activations", options.activations,
                  "Bits of what meets quantised weights: 16, or 8, which reads faster and is less "
                  "exact")
      ->check(CLI::Validator(
          [](const std::string& text) {
            int bits = 0;  // which of them there are is the backend's to say
            return is_number(text, bits) ? std::string()
                                         : "\"" + text + "\" is no number of bits: write 16 or 8";
          },
          ""))
      ->capture_default_str()
      ->type_name("BITS");
  command
      .add_option("-t,--threads", options.threads, "Threads; 0, the default: one per physical core")
      ->type_name("N")
      ->check(whole_number(0, kThreadsMax));
}

void add_recipe_options(CLI::App& command, Options& options, const std::string& fallback) {
  command
      .add_option("-r,--recipe", options.recipe,
                  "Preset (full, balanced, compact, extreme), built-in recipe, or recipe file; "
                  "default: " +
                      fallback)
      ->type_name("NAME");
  command
      .add_option("--keep", options.keep,
                  "Share of a prompt's tokens to keep, instead of the recipe's own")
      ->check(CLI::Range(0.01, 1.0));
  command
      .add_option("--budget", options.budget,
                  "Hard limit for the cache and its scratch, weights not counted: 300MB, 2GiB …")
      ->type_name("BYTES");
}

void add_sampling_options(CLI::App& command, Options& options) {
  runtime::Sampling& sampling = options.sampling;
  command.add_option("--temperature", sampling.temperature, "0 is greedy")->capture_default_str();
  command.add_option("--top-k", sampling.top_k, "0 is off")
      ->check(whole_number())
      ->capture_default_str();
  command.add_option("--top-p", sampling.top_p, "1 is off")->capture_default_str();
  command.add_option("--min-p", sampling.min_p, "0 is off")->capture_default_str();
  command.add_option("--repetition-penalty", sampling.repetition_penalty, "1 is off")
      ->capture_default_str();
  command.add_option("--seed", sampling.seed, "Same seed, same text")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option("-n,--max-tokens", sampling.n_tokens_max,
                  "Of the answer, thoughts not counted; 0: until it ends")
      ->check(whole_number())
      ->capture_default_str();
  command.add_flag("!--allow-loops", sampling.ends_loops,
                   "Do not end an answer that says the same again and again");
}

void add_output_file(CLI::App& command, std::string& file, const std::string& about) {
  command.add_option("--output", file, about)
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string& path) {
            return path.empty() ? std::string("--output needs the name of a file") : std::string();
          },
          ""));
}

}  // namespace satchel::app
