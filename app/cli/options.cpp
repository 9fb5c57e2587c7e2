#include "app/cli/options.h"

#include <charconv>

#include "app/store_key.h"

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

CLI::Validator share_range() {
  return CLI::Validator(
      [](const std::string& text) {
        double share = 0;
        const bool fits = is_number(text, share) && share >= 0.01 && share <= 1;  // NaN does not
        return fits ? std::string() : "\"" + text + "\" is not a share from 0.01 to 1";
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.empty() ? std::string("it is empty; leave the option out for the default")
                            : std::string();
      },
      "");
}

void add_output_options(CLI::App& command, Options& options) {
  command.add_flag("--json", options.json, "Print one JSON document on stdout");
  command.add_flag("-q,--quiet", options.quiet,
                   "Hide progress and notes, but not warnings and errors");
}

void add_store_option(CLI::App& command, Options& options) {
  command
      .add_option("--store", options.store,
                  "Folder for chats and saved caches; default: your data and cache folders")
      ->check(not_empty())
      ->type_name("DIR");
  add_key_option(command, options);
}

void add_key_option(CLI::App& command, Options& options) {
  command.add_option("--key-file", options.key_file, kKeyFileAbout)->type_name("FILE");
}

void add_model_options(CLI::App& command, Options& options) {
  command
      .add_option("-m,--model", options.model,
                  "GGUF file, or the start of a name in the model folder; default: the bundled "
                  "notes-mini")
      ->check(not_empty())
      ->type_name("FILE");
  command
      .add_option("--template", options.chat_template,
                  "Chat template to use when the model file's own is not recognized")
      ->type_name("NAME");
  command
      .add_option(
          "--backend", options.backend,
          "auto (the GPU if it can be used, else the CPU), cuda, cpu, or reference (slow, for "
          "comparison)")
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--cpu-level", options.cpu_level,
                  "CPU instruction set for the model and its cache: avx2, avx512 …; checksums "
                  "use AVX2 with each of them")
      ->type_name("NAME");
  command
      .add_option("--activations", options.activations,
                  "Precision of activations: 16 bits, or 8, which reads prompts faster but is less "
                  "exact")
      ->check(CLI::Validator(
          [](const std::string& text) {
            int bits = 0;  // which of them there are is the backend's to say
            return is_number(text, bits) ? std::string()
                                         : "\"" + text + "\" is not a number of bits; use 16 or 8";
          },
          ""))
      ->capture_default_str()
      ->type_name("BITS");
  command
      .add_option("-t,--threads", options.threads,
                  "Number of threads; default: 0, one per physical core")
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
                  "Share of a prompt's tokens to keep, overriding the recipe")
      ->type_name("SHARE")
      ->check(share_range());
  command
      .add_option("--budget", options.budget,
                  "Memory limit for the cache and its workspace, without weights: 300MB, 2GiB …")
      ->type_name("BYTES");
}

void add_output_file(CLI::App& command, std::string& file, const std::string& about) {
  command.add_option("--output", file, about)
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string& path) {
            return path.empty() ? std::string("--output needs a file name") : std::string();
          },
          ""));
}

}  // namespace satchel::app
