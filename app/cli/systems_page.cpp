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
    "[Figures](#figures) has, for each, what was measured here, the paper's own figure, and how "
    "the "
    "two compare. What the recipes recall is in [recipes](recipes.md), what the codecs cost in "
    "[codecs](codecs.md).\n";

constexpr std::string_view kImages =
    "\n## Images and video\n"
    "\n"
    "Satchel's models read text. Of the systems made for images or video, what works on any token "
    "is here, and the rest waits for a model that reads images: its encoder, and a class for each "
    "token (image or text) that reaches scorers and mergers.\n"
    "\n"
    "- **LOOK-M** has its merging here. With classes its scorer would add the largest score to "
    "every text token, so that image tokens go first.\n"
    "- **Elastic Cache** has its averaging into the nearest kept token here. It treats an "
    "instruction's tokens and those of the answer by different rules: the second, eviction at a "
    "fixed distance while decoding, is missing and needs no images.\n"
    "- **ZipVL** has its budgets by attention mass here. Its gain is in prefill, where only the "
    "chosen tokens attend: that pays where thousands of image tokens are read at once.\n"
    "- **EMS** has no part of its own for images; its scores and its merging by class are here.\n"
    "- **ReKV** reads frames behind a sliding window and brings back blocks by the question's "
    "attention: it needs the encoder, and a page selector over pages on disk.\n";

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

// "docs/codecs.md#which-one": as a link from a page of docs.
std::string document_link(const std::string& place) {
  constexpr std::string_view kDocs = "docs/";
  const std::string shown = place.substr(0, place.find('#'));
  if (!place.starts_with(kDocs)) return "[" + shown + "](../" + place + ")";
  return "[" + shown.substr(kDocs.size()) + "](" + place.substr(kDocs.size()) + ")";
}

std::string measured(const PublishedSystem& system) {
  if (system.measured.empty()) return "not measured";
  return system.measured + " (" + document_link(system.measured_in) + "; `" + system.measured_by +
         "`)";
}

std::string tests(const PublishedSystem& system) {
  std::string out;
  for (const std::string& file : system.tests)
    out += (out.empty() ? "[" : ", [") + file.substr(file.rfind('/') + 1) + "](../" + file + ")";
  return out;
}

std::string figures(std::span<const PublishedSystem> systems) {
  std::string text =
      "\n## Figures\n\n| system | measured here | the paper's figure | how they compare | tests "
      "|\n|---|---|---|---|---|\n";
  for (const PublishedSystem& system : systems)
    text += "| " + cell(system.name) + " | " + cell(measured(system)) + " | " +
            cell(system.published) + " | " + cell(system.compared) + " | " + tests(system) + " |\n";
  return text;
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
  return page + std::string(kImages) + figures(systems);
}

}  // namespace satchel::app
