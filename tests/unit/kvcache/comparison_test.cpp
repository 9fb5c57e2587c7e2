// Stages beside the library's own: registered before main(), found by every test here.
#include "kvcache/comparison/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kvcache/recipes/recipe.h"
#include "kvcache/stages/registry.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

std::string message_of(const Result<void>& result) {
  return result.ok() ? "" : result.error().message;
}

struct Registered {
  static Result<std::unique_ptr<Stage>> none(Params&) { return std::unique_ptr<Stage>(); }
  static std::string of(std::string_view name, bool has_maker) {
    static StageEntry entry{StageKind::codec, "", "ours", nullptr};
    entry.name = name;
    entry.make = nullptr;
    if (has_maker) entry.make = none;
    return message_of(register_stages({&entry, 1}));
  }
  std::string nameless = of("", true), without_maker = of("mine", false), known = of("saq", true);
  std::string comparison = message_of(register_comparison_stages());
  std::string again = message_of(register_comparison_stages());
};
const Registered kRegistered;

TEST(RegisteredStages, are_checked) {
  EXPECT_THAT(kRegistered.nameless, HasSubstr("needs a name and a maker"));
  EXPECT_THAT(kRegistered.without_maker, HasSubstr("needs a name and a maker"));
  EXPECT_THAT(kRegistered.known, HasSubstr("there is a codec \"saq\" already"));
  EXPECT_EQ(kRegistered.comparison, "");
  EXPECT_THAT(kRegistered.again, HasSubstr("already"));
}

TEST(RegisteredStages, may_come_behind_the_first_recipe_and_leave_what_was_listed) {
  ASSERT_TRUE(Recipe::builtin("full").ok());
  const std::span<const StageEntry* const> listed = all_stages();
  const std::vector<const StageEntry*> before(listed.begin(), listed.end());
  static const StageEntry kLate{StageKind::trigger, "late", "ours",
                                find_stage(StageKind::trigger, "never")->make};
  EXPECT_EQ(message_of(register_stages({&kLate, 1})), "");
  EXPECT_EQ(find_stage(StageKind::trigger, "late"), &kLate);
  EXPECT_EQ(all_stages().size(), before.size() + 1);
  EXPECT_TRUE(std::ranges::equal(listed, before));
}

// A page selector may have the name of its paper's codec; none of them is a comparison stage.
std::string without_reader(std::string_view recipe) {
  std::string json(Recipe::builtin(recipe).value().json());
  const std::size_t reader = json.find("\"reader\":{");
  if (reader != std::string::npos) json.erase(reader, json.find('}', reader) - reader);
  return json;
}

TEST(ComparisonStages, are_found_by_their_names_and_used_by_no_recipe_of_ours) {
  EXPECT_EQ(comparison_stage_names().size(), 15u);
  for (const StageName& each : comparison_stage_names()) {
    EXPECT_NE(find_stage(each.kind, each.name), nullptr) << each.name;
    EXPECT_NE(each.kind, StageKind::reader) << each.name;
    const std::string use = "\"use\":\"" + std::string(each.name) + "\"";
    for (const BuiltinRecipe& recipe : builtin_recipes())
      EXPECT_EQ(without_reader(recipe.name).find(use), std::string::npos)
          << recipe.name << " uses " << each.name << ", which embedders do not link";
  }
}

}  // namespace
}  // namespace satchel::kvcache
