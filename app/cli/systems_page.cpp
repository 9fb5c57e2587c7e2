#include <algorithm>

#include "app/cli/published_systems.h"

namespace satchel::app {
namespace {

constexpr std::string_view kHead =
    "# Published systems\n"
    "\n"
    "What Satchel has of each published system for the KV cache. `satchel systems NAME` says the "
    "same of one, `satchel systems --json` of all. This page is what `satchel systems --markdown` "
    "prints, from `app/cli/systems.json`.\n"
    "\n"
    "- **Built**: the method works here as its paper describes it. Small differences are in the "
    "head of the file, and in `satchel recipes --explain NAME`.\n"
    "- **In part**: a piece of it works here; the row says which.\n"
    "- **Refused**: Satchel knows it by name, and says why it can't work.\n"
    "- **Not built**: Satchel has nothing of it; the row says why.\n"
    "\n"
    "What the recipes recall is in [recipes](recipes.md), what the codecs cost in "
    "[codecs](codecs.md).\n";

std::string title_of(SystemStatus status) {
  std::string title(to_text(status));
  title.front() = static_cast<char>(title.front() - 'a' + 'A');
  return title;
}

// A bar would end the cell.
std::string cell(std::string text) {
  std::ranges::replace(text, '|', '/');
  return text;
}

// "SAQ" stands in the title already.
std::string paper(const PublishedSystem& system) {
  return system.title + (system.title.find(system.source) == std::string::npos
                             ? ", " + system.source
                             : std::string());
}

std::string places(const PublishedSystem& system) {
  std::string out;
  for (const std::string& recipe : system.recipes)
    out += (out.empty() ? "recipe `" : ", `") + recipe + "`";
  for (const std::string& file : system.files)
    out += (out.empty() ? "[" : ", [") + file + "](../" + file + ")";
  return out;
}

std::string row(const PublishedSystem& system) {
  return "| " + cell(system.name) + " | " + cell(paper(system)) + " | " + cell(system.what) +
         " | " + cell(system.why.empty() ? places(system) : system.why) + " |\n";
}

}  // namespace

std::string systems_page(std::span<const PublishedSystem> systems) {
  std::string page(kHead);
  for (const SystemStatus status : {SystemStatus::built, SystemStatus::in_part,
                                    SystemStatus::refused, SystemStatus::not_built}) {
    const bool is_lacking = status == SystemStatus::refused || status == SystemStatus::not_built;
    page += "\n## " + title_of(status) + "\n\n" +
            (is_lacking ? "| system | paper | what it does | why Satchel lacks it |\n"
                        : "| system | paper | what Satchel has | where |\n") +
            "|---|---|---|---|\n";
    for (const PublishedSystem& system : systems)
      if (system.status == status) page += row(system);
  }
  return page;
}

}  // namespace satchel::app
