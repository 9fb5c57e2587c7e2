#include <memory>

#include "app/cli/commands.h"
#include "app/cli/on_run.h"
#include "app/cli/published_systems.h"
#include "app/cli/text_table.h"

namespace satchel::app {
namespace {

struct SystemOptions {
  Options common;
  std::string name;
  bool markdown = false;
};

Json to_json(const PublishedSystem& system) {
  return Json{{"name", system.name},
              {"title", system.title},
              {"source", system.source},
              {"status", to_text(system.status)},
              {"recipes", system.recipes},
              {"files", system.files},
              {"what", system.what},
              {"why", system.why},
              {"measured", system.measured.empty() ? Json() : Json(system.measured)},
              {"measured_in", system.measured_in},
              {"measured_by", system.measured_by},
              {"published", system.published},
              {"compared", system.compared},
              {"tests", system.tests}};
}

std::string listed(const std::vector<std::string>& words, const std::string& between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::string paragraph(const std::string& head, const std::string& text) {
  return text.empty() ? "" : "  " + head + "\n" + wrapped(text, 4);
}

std::string figures_text(const PublishedSystem& system) {
  const bool is_measured = !system.measured.empty();
  std::string text = paragraph("measured here", is_measured ? system.measured : "not measured");
  if (is_measured)
    text += "    in " + system.measured_in + "\n" + wrapped("by " + system.measured_by, 4);
  return text + paragraph("the paper's figure", system.published) +
         paragraph("how they compare", system.compared);
}

std::string to_text(const PublishedSystem& system) {
  const std::string column(13, ' ');
  std::string text = system.name + "\n  title\n" + wrapped(system.title, 4) + "  source     " +
                     system.source + "\n  status     " + std::string(to_text(system.status)) + "\n";
  if (!system.recipes.empty()) text += "  recipes    " + listed(system.recipes, ", ") + "\n";
  if (!system.files.empty()) text += "  files      " + listed(system.files, "\n" + column) + "\n";
  if (!system.tests.empty()) text += "  tests      " + listed(system.tests, "\n" + column) + "\n";
  return text + paragraph(system.why.empty() ? "what Satchel has" : "what it does", system.what) +
         paragraph("why Satchel lacks it", system.why) + figures_text(system);
}

// Its recipes, or else its first file.
std::string place_of(const PublishedSystem& system) {
  if (!system.recipes.empty() || system.files.empty()) return listed(system.recipes, ", ");
  const std::size_t more = system.files.size() - 1;
  return system.files.front() + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string list_text(const std::vector<PublishedSystem>& systems) {
  std::string text = "Published systems, and what Satchel has of them (details: NAME)\n";
  for (const PublishedSystem& system : systems) {
    std::string line = "  " + padded(system.name, 31) +
                       padded(std::string(to_text(system.status)), 11) + place_of(system);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

Result<void> run(const SystemOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const std::vector<PublishedSystem> systems, read_systems(systems_json()));
  if (options.markdown) {
    console.data(systems_page(systems));
    return {};
  }
  if (!options.name.empty()) {
    SATCHEL_TRY_ASSIGN(const PublishedSystem system, find_system(systems, options.name));
    if (console.json()) {
      Json json = {{"schema", 1}};
      json.update(to_json(system));
      console.document(json);
    } else {
      console.data(to_text(system));
    }
    return {};
  }
  if (!console.json()) {
    console.data(list_text(systems));
    return {};
  }
  Json rows = Json::array();
  for (const PublishedSystem& system : systems) rows.push_back(to_json(system));
  console.document({{"schema", 1}, {"systems", rows}});
  return {};
}

}  // namespace

void add_systems(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<SystemOptions>();
  CLI::App* command =
      app.add_subcommand("systems", "List published KV cache systems and what Satchel has of each");
  add_output_options(*command, options->common);
  CLI::Option* name =
      command->add_option("name", options->name, "Describe this system, or that of this recipe");
  command->add_flag("--markdown", options->markdown, "Print all as a page of documentation")
      ->excludes(name)
      ->excludes("--json");
  on_run(*command, choose, options,
         [](const SystemOptions& given, Console& console) { return run(given, console); });
}

}  // namespace satchel::app
