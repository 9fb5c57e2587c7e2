// Stages beside the library's own: registered before the first recipe, found by every test here.
#include "kvcache/comparison/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kvcache/recipes/recipe.h"
#include "kvcache/stages/registry.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

std::string message_of(const Result<void>& result) {
  return result.ok() ? "" : result.error().message;
}

// Before main(), as a program does before its first recipe.
struct Registered {
  static Result<std::unique_ptr<Stage>> none(Params&) { return std::unique_ptr<Stage>(); }
  static std::string of(std::string_view name, bool has_maker) {
    static StageEntry entry{StageKind::codec, "", "ours", nullptr};
    entry.name = name;
    entry.make = has_maker ? none : nullptr;
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

TEST(RegisteredStages, come_too_late_behind_the_first_recipe) {
  ASSERT_TRUE(Recipe::builtin("full").ok());
  const Result<void> late = register_comparison_stages();
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, "STAGES");
  EXPECT_THAT(late.error().message, HasSubstr("before the first recipe"));
}

TEST(ComparisonStages, are_found_by_their_names_and_used_by_no_recipe_of_ours) {
  EXPECT_EQ(comparison_stage_names().size(), 14u);
  for (const StageName& each : comparison_stage_names()) {
    EXPECT_NE(find_stage(each.kind, each.name), nullptr) << each.name;
    const std::string use = "\"use\":\"" + std::string(each.name) + "\"";
    for (const BuiltinRecipe& recipe : builtin_recipes())
      EXPECT_EQ(Recipe::builtin(recipe.name).value().json().find(use), std::string::npos)
          << recipe.name << " uses " << each.name << ", which embedders do not link";
  }
}

}  // namespace
}  // namespace satchel::kvcache
