// The list of published systems: what it names is there, what is there is named, and the page of
// the documents is made from it.
#include "app/cli/published_systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "kvcache/recipes/recipe.h"
#include "kvcache/stages/registry.h"
#include "support/source_dir.h"

namespace satchel::kvcache {
std::span<const StageEntry> comparison_stages();  // written by the build
}

namespace satchel::app {
namespace {

using testing::HasSubstr;

std::vector<PublishedSystem> systems() {
  Result<std::vector<PublishedSystem>> read = read_systems(systems_json());
  return read.ok() ? *std::move(read) : std::vector<PublishedSystem>();
}

std::string text_of(const std::string& file) {
  std::ifstream in(std::filesystem::path(test::source_dir()) / file);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// "MLSys 2024" says nothing without the system's name.
bool cites(std::string_view text, const PublishedSystem& system) {
  const auto has = [&](const std::string& part) { return text.find(part) != text.npos; };
  return has(system.source) && (system.source.starts_with("arXiv:") || has(system.name));
}

// The papers that a recipe or a stage names as its source, and "ours".
std::vector<std::string> parts_of(std::string_view source) {
  std::vector<std::string> parts;
  const std::string text(source);
  const std::regex id(R"(arXiv:\d{4}\.\d{5})");
  for (std::sregex_iterator at(text.begin(), text.end(), id), end; at != end; ++at)
    parts.push_back(at->str());
  if (parts.empty()) parts.push_back(text);
  return parts;
}

void expect_listed(std::string_view source, std::string_view of) {
  static const std::vector<PublishedSystem> all = systems();
  for (const std::string& part : parts_of(source))
    EXPECT_TRUE(part == "ours" ||
                std::ranges::any_of(
                    all, [&](const PublishedSystem& system) { return cites(part, system); }))
        << of << " is after " << part << ": app/cli/systems.json has no such system";
}

bool exists(const std::string& file) {
  return std::filesystem::exists(std::filesystem::path(test::source_dir()) / file);
}

// The papers that the project set out with.
constexpr const char* kPapers =
    "A2ATS,A2SF,Accurate Block Quantization,Attention-Gate,BatchLLM,Block Transformer,"
    "Cache-Craft,CacheBlend,CacheGen,CSKV,D2O,Double Sparsity,DuoAttention,EasySpec,"
    "Effectively Compress KV Heads,Elastic Cache,EMS,FastSwitch,GEAR,H2O,Hydragen,InstInfer,"
    "Keyformer,KIVI,KV Prediction,KVCrush,KVMerger,KVQuant,LoCoCo,Locret,LOOK-M,MatryoshkaKV,"
    "MiKV,MiniCache,MiniKV,Peak Performance Analysis,PIE,Prepacking,RAPID,RazorAttention,ReKV,"
    "RetrievalAttention,RotateKV,SAQ,SCBench,Scissorhands,ShadowKV,SnapKV,StreamingLLM,ThinK,"
    "TidalDecode,TriForce,vAttention,XKV,ZipCache,ZipVL";

TEST(PublishedSystems, have_every_paper_that_the_project_set_out_with) {
  const auto read = read_systems(systems_json());
  ASSERT_TRUE(read.ok()) << read.error().message;
  std::istringstream papers(kPapers);
  for (std::string paper; std::getline(papers, paper, ',');)
    EXPECT_EQ(std::ranges::count(*read, paper, &PublishedSystem::name), 1) << paper;
}

TEST(PublishedSystems, have_figures_in_documents_and_tests_that_exist) {
  for (const PublishedSystem& system : systems()) {
    const std::string document = system.measured_in.substr(0, system.measured_in.find('#'));
    EXPECT_TRUE(document.empty() || exists(document)) << system.name << " names " << document;
    for (const std::string& file : system.tests) {
      EXPECT_TRUE(exists(file)) << system.name << " names " << file;
      EXPECT_TRUE(file.starts_with("tests/")) << system.name << " names " << file;
    }
  }
}

TEST(PublishedSystems, name_recipes_that_ship_and_are_after_them) {
  for (const PublishedSystem& system : systems())
    for (const std::string& name : system.recipes) {
      const auto recipe = kvcache::Recipe::builtin(name);
      ASSERT_TRUE(recipe.ok()) << system.name << ": " << recipe.error().message;
      EXPECT_TRUE(cites(recipe->source(), system)) << name << " does not cite " << system.name;
    }
}

TEST(PublishedSystems, name_files_that_exist_and_cite_them) {
  for (const PublishedSystem& system : systems()) {
    bool is_cited = system.files.empty();
    for (const std::string& file : system.files) {
      EXPECT_TRUE(exists(file)) << system.name << " names " << file;
      is_cited = is_cited || text_of(file).find(system.source) != std::string::npos;
    }
    EXPECT_TRUE(is_cited) << "no file of " << system.name << " cites " << system.source;
  }
}

TEST(PublishedSystems, have_every_recipe_that_ships) {
  const std::vector<PublishedSystem> all = systems();
  for (const kvcache::BuiltinRecipe& builtin : kvcache::builtin_recipes()) {
    const auto recipe = kvcache::Recipe::builtin(builtin.name);
    ASSERT_TRUE(recipe.ok()) << builtin.name;
    expect_listed(recipe->source(), builtin.name);
    const bool is_ours = recipe->source().starts_with("ours");
    EXPECT_TRUE(is_ours || std::ranges::any_of(all,
                                               [&](const PublishedSystem& system) {
                                                 return std::ranges::count(system.recipes,
                                                                           builtin.name) > 0;
                                               }))
        << "no system names the recipe " << builtin.name;
  }
}

TEST(PublishedSystems, have_every_stage_of_the_library_and_of_the_comparison) {
  for (const auto& stages : {kvcache::library_stages(), kvcache::comparison_stages()})
    for (const kvcache::StageEntry& stage : stages) expect_listed(stage.source, stage.name);
}

TEST(PublishedSystems, are_refused_where_their_stage_is_with_its_words) {
  std::set<std::string> refused, expected;
  for (const PublishedSystem& system : systems())
    if (system.status == SystemStatus::refused) refused.insert(system.why);
  for (const kvcache::RefusedStage& stage : kvcache::refused_stages())
    expected.insert(std::string(stage.why));
  EXPECT_EQ(refused, expected);
}

TEST(PublishedSystems, are_built_where_something_is_named_and_lacking_where_nothing_is) {
  for (const PublishedSystem& system : systems()) {
    const bool is_there =
        system.status == SystemStatus::built || system.status == SystemStatus::in_part;
    EXPECT_EQ(is_there, !system.files.empty()) << system.name;
    EXPECT_TRUE(is_there || system.recipes.empty()) << system.name;
    EXPECT_TRUE(!is_there || !system.tests.empty()) << system.name << " names no test";
    EXPECT_FALSE(system.compared.empty()) << system.name << " says nothing of its figures";
  }
}

TEST(PublishedSystems, are_found_by_name_in_any_form_and_by_recipe) {
  const std::vector<PublishedSystem> all = systems();
  for (const PublishedSystem& system : all) {
    const auto found = find_system(all, system.name);
    ASSERT_TRUE(found.ok()) << system.name;
    EXPECT_EQ(found->title, system.title);
  }
  EXPECT_EQ(find_system(all, "a^2ats")->name, "A2ATS");
  EXPECT_EQ(find_system(all, "LOOKM")->name, "LOOK-M");
  EXPECT_EQ(find_system(all, "minikv-g32")->name, "MiniKV");
}

TEST(PublishedSystems, that_are_unknown_are_answered_with_the_nearest_name) {
  const std::vector<PublishedSystem> all = systems();
  for (const auto& [asked, nearest] :
       {std::pair{"zipcash", "ZipCache"}, std::pair{"h3o", "H2O"}, std::pair{"snapvk", "SnapKV"},
        std::pair{"retrieval attention 2", "RetrievalAttention"}, std::pair{"snap", "SnapKV"},
        std::pair{"Zip-C", "ZipCache"}}) {
    const auto found = find_system(all, asked);
    ASSERT_FALSE(found.ok()) << asked;
    EXPECT_EQ(found.error().kind, ErrorKind::not_found);
    EXPECT_EQ(found.error().code, "SYSTEM");
    EXPECT_THAT(found.error().message, HasSubstr("\"" + std::string(asked) + "\""));
    EXPECT_THAT(found.error().message, HasSubstr("nearest name is \"" + std::string(nearest)));
  }
}

TEST(PublishedSystems, of_a_list_that_says_too_little_are_refused) {
  const auto refused = [](const std::string& row) {
    const auto read = read_systems("{\"systems\": [" + row + "]}");
    return read.ok() ? "" : read.error().message;
  };
  const std::string rest = R"("title": "T", "source": "S", "what": "W")";
  EXPECT_EQ(refused(R"({"name": "N", "status": "built", )" + rest + "}"), "");
  EXPECT_THAT(refused(R"({"name": "N", "status": "done", )" + rest + "}"), HasSubstr("status"));
  EXPECT_THAT(refused(R"({"name": "N", "status": "not built", )" + rest + "}"),
              HasSubstr("\"N\" needs"));
  EXPECT_THAT(refused(R"({"name": "N", "status": "refused", )" + rest + "}"),
              HasSubstr("a reason"));
  EXPECT_THAT(refused(R"({"name": "N", "status": "built", "why": "Y", )" + rest + "}"),
              HasSubstr("\"N\" needs"));
  const std::string built = R"({"name": "N", "status": "built", )" + rest;
  EXPECT_EQ(refused(built + R"(, "measured": "1", "measured_in": "D", "measured_by": "C"})"), "");
  EXPECT_THAT(refused(built + R"(, "measured": "1", "measured_by": "C"})"),
              HasSubstr("a document"));
  EXPECT_THAT(refused(built + R"(, "measured": "1", "measured_in": "D"})"), HasSubstr("a command"));
  EXPECT_THAT(refused(built + R"(, "measured_in": "D", "measured_by": "C"})"),
              HasSubstr("figures for these"));
  EXPECT_THAT(refused("3"), HasSubstr("needs a name"));
  EXPECT_FALSE(read_systems("[]").ok());
  EXPECT_FALSE(read_systems("{").ok());
}

TEST(PublishedSystems, are_the_page_of_the_documents) {
  EXPECT_EQ(text_of("docs/systems.md"), systems_page(systems()))
      << "satchel systems --markdown > docs/systems.md";
}

}  // namespace
}  // namespace satchel::app
