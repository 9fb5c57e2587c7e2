#include "app/cli/thoughts.h"
#include "kernels/base/size_text.h"

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
          "Turn the model's thinking on or off, if its template supports that; auto (the default) "
          "leaves it to the template")
      ->check(CLI::IsMember({"on", "off", "auto"}).description(""))
      ->type_name("on|off|auto");
  command.add_flag("--show-thoughts", shows, "Print the model's thoughts on stderr");
}

Result<Thinking> thinking_named(const std::string& name) {
  if (const auto found = names().find(name); found != names().end()) return found->second;
  return Error{ErrorKind::invalid, "PARAM", "Enter /think on, /think off or /think auto."};
}

std::string describe(const runtime::Thoughts& thoughts, bool shown) {
  return "Thought for " + duration_text(thoughts.ms) + " (" + count_text(thoughts.n_tokens) +
         " tokens)." + (shown ? "" : " Use --show-thoughts to see the thoughts.");
}

void ThoughtLine::add(std::string_view text) {
  if (!std::exchange(is_open_, true)) began_ms_ = clock_.steady_ms();
  if (shows_) {
    console_.aside(text);
  } else {
    const double passed = clock_.steady_ms() - began_ms_;
    if (passed > kSaidAfterMs) console_.status("Thinking… " + duration_text(passed));
  }
}

void ThoughtLine::end() {
  if (std::exchange(is_open_, false) && shows_) console_.aside("\n\n");
}

}  // namespace satchel::app
