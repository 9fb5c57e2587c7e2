#include <memory>
#include <vector>

#include "app/cli/codec_list.h"
#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/recipe_text.h"
#include "app/cli/workbench.h"
#include "runtime/limits/presets.h"

namespace satchel::app {
namespace {

Json to_json(const kvcache::Recipe& recipe) {
  return Json{{"name", recipe.name()},
              {"source", recipe.source()},
              {"differs", recipe.differs()},
              {"keep", recipe.keep()},
              {"needs", needs_of(recipe)},
              {"hash", recipe.hash()},
              {"recipe", Json::parse(recipe.json(), nullptr, false)}};
}

int check(Console& console, const std::string& path) {
  Result<kvcache::Recipe> recipe = runtime::resolve_recipe(path);
  if (!recipe.ok()) return console.fail(recipe.error());
  if (console.json()) {
    console.document(to_json(*recipe));
  } else {
    const std::string needs = needs_of(*recipe);
    console.data(recipe->name() + " is a valid recipe.\n" +
                 (needs.empty() ? "" : "Requires: " + needs + "\n") + recipe->json() + "\n");
  }
  return kExitOk;
}

// A line of the list, and the same for scripts.
struct Listed {
  std::string name, line;
  Json json;
};
Listed listed(const kvcache::Recipe& recipe) {
  const char* needs = needs_of(recipe).empty() ? "" : ", needs trained weights";
  return {.name = recipe.name(),
          .line = padded(recipe.keep() < 1 ? format_percent(recipe.keep()) : "all", 8) +
                  recipe.source() + needs,
          .json = to_json(recipe)};
}

Result<std::vector<Listed>> all_listed() {
  std::vector<Listed> out;
  for (const kvcache::BuiltinRecipe& builtin : kvcache::builtin_recipes()) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, kvcache::Recipe::builtin(builtin.name));
    out.push_back(listed(recipe));
  }
  return out;
}

int list(Console& console) {
  const Result<std::vector<Listed>> recipes = all_listed();
  if (!recipes.ok()) return console.fail(recipes.error());
  Json rows = Json::array();
  std::string text = "Presets\n";
  for (const runtime::Preset& preset : runtime::presets())
    text += "  " + padded(std::string(preset.name), 12) + std::string(preset.recipe) + ", keeps " +
            format_percent(preset.keep) + " of a prompt's tokens\n";
  text += "Recipes and the share of tokens they keep (details: --explain NAME)\n";
  for (const Listed& recipe : *recipes) {
    rows.push_back(recipe.json);
    text += "  " + padded(recipe.name, 20) + recipe.line + "\n";
  }
  if (!console.json()) {
    console.data(text);
    return kExitOk;
  }
  Json presets = Json::array();
  for (const runtime::Preset& preset : runtime::presets())
    presets.push_back({{"name", preset.name}, {"recipe", preset.recipe}, {"keep", preset.keep}});
  console.document({{"schema", 1}, {"presets", presets}, {"recipes", rows}});
  return kExitOk;
}

}  // namespace

void add_recipes(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<Options>();
  auto path = std::make_shared<std::string>();
  auto explained = std::make_shared<std::string>();
  auto codecs = std::make_shared<bool>(false);
  auto head_dims = std::make_shared<std::vector<std::size_t>>(std::vector<std::size_t>{64, 128});
  CLI::App* command = app.add_subcommand("recipes", "List presets, compression recipes and codecs");
  add_output_options(*command, *options);
  command->add_option("--check", *path, "Check a recipe file and print it in canonical form")
      ->type_name("FILE");
  command
      ->add_option(
          "--explain", *explained,
          "Show what a preset, recipe or recipe file does: its stages, parameters and source")
      ->type_name("NAME");
  CLI::Option* list_option = command->add_flag(
      "--codecs", *codecs, "List the codecs that recipes can use, with their parameters");
  command
      ->add_option("--head-dim", *head_dims,
                   "Head dimensions to list bits per value for; default: 64,128")
      ->needs(list_option)
      ->delimiter(',');
  command->callback([=] {
    choose([=] {
      Console console(options->json, options->quiet);
      if (*codecs) return list_codecs(console, *head_dims);
      if (!explained->empty()) return explain_recipe(console, *explained);
      return path->empty() ? list(console) : check(console, *path);
    });
  });
}

}  // namespace satchel::app
