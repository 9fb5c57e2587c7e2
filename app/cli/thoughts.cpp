#include "app/cli/thoughts.h"

#include <map>
#include <utility>

namespace satchel::app {
namespace {

using runtime::Thinking;

constexpr double kSaidAfterMs = 1000;

const std::map<std::string, Thinking>& names() {
  static const std::map<std::string, Thinking> all = {
      {"auto", Thinking::automatic}, {"on", Thinking::on}, {"off", Thinking::off}};
  return all;
}

}  // namespace

void add_thinking_options(CLI::App& command, Thinking& thinking, bool& shows) {
  command
      .add_option_function<std::string>(
          "--think", [&thinking](const std::string& name) { thinking = names().at(name); },
          "Whether the model thinks before it answers, where its template has the switch: on, off; "
          "auto (the default) leaves it to the template")
      ->check(CLI::IsMember({"on", "off", "auto"}).description(""))
      ->type_name("on|off|auto");
  command.add_flag("--show-thoughts", shows, "Print on stderr what is thought before the answer");
}

Result<Thinking> thinking_named(const std::string& name) {
  if (const auto found = names().find(name); found != names().end()) return found->second;
  return Error{ErrorKind::invalid, "PARAM", "Write /think on, /think off or /think auto."};
}

std::string describe(const runtime::Thoughts& thoughts, bool shown) {
  return "Thought " + with_thousands(thoughts.n_tokens) + " tokens in " +
         format_seconds(thoughts.ms) + " before the answer" +
         (shown ? "." : "; --show-thoughts prints them.");
}

bool ThoughtLine::add(std::string_view text) {
  if (!std::exchange(is_open_, true)) began_ms_ = clock_.steady_ms();
  if (shows_) {
    console_.aside(text);
  } else {
    const double passed = clock_.steady_ms() - began_ms_;
    if (passed > kSaidAfterMs) console_.status("Thinking … " + format_seconds(passed));
  }
  return true;
}

void ThoughtLine::end() {
  if (std::exchange(is_open_, false) && shows_) console_.aside("\n\n");
}

}  // namespace satchel::app
