// Options of a command that has commands below it.
#include "app/cli/on_run.h"

#include <gtest/gtest.h>

namespace satchel::app {
namespace {

struct Parsed {
  int n_above = 0, n_below = 0;  // how often each ran
  std::string refused;
};

Parsed parse(const std::string& line) {
  Parsed out;
  Run chosen = [] { return 0; };
  const Choose choose = [&](Run run) { chosen = std::move(run); };
  CLI::App app("", "satchel");
  CLI::App* const above = app.add_subcommand("bench");
  CLI::App* const below = above->add_subcommand("resume");
  const auto above_options = std::make_shared<Options>(), below_options = above_options;
  above->add_option("--model", above_options->model);
  below->add_option("--model", below_options->model);
  const auto counts = [](int& n) {
    return [&n](const Options&, Console&) -> Result<void> {
      ++n;
      return {};
    };
  };
  on_run(*above, choose, above_options, counts(out.n_above));
  on_run(*below, choose, below_options, counts(out.n_below));
  try {
    app.parse(line);
    chosen();
  } catch (const CLI::ParseError& error) {
    out.refused = error.what();
  }
  return out;
}

TEST(OnRun, the_command_that_was_named_last_runs) {
  EXPECT_EQ(parse("bench --model a").n_above, 1);
  const Parsed resume = parse("bench resume --model a");
  EXPECT_EQ(resume.n_above, 0);
  EXPECT_EQ(resume.n_below, 1);
  EXPECT_EQ(resume.refused, "");
}

TEST(OnRun, options_before_a_command_below_are_refused_not_dropped) {
  const Parsed parsed = parse("bench --model a resume");
  EXPECT_EQ(parsed.n_below, 0);
  EXPECT_EQ(parsed.refused, "--model: \"bench resume\" takes its options after \"resume\"");
}

}  // namespace
}  // namespace satchel::app
