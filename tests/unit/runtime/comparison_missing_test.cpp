// What a program without the comparison stages says of a recipe that names one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/recipes/recipe.h"

namespace satchel::kvcache {
namespace {

TEST(ComparisonStages, that_are_not_linked_are_named_with_what_to_do) {
  const auto recipe = Recipe::parse(
      R"({ "recipe": 1, "name": "t", "source": "ours", "differs": "nothing", "keep": 1,
           "trigger": "never", "reader": "all", "codec": { "k": "kvarn", "v": "exact" } })");
  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, "RECIPE");
  for (const char* part :
       {"\"kvarn\"", "does not link", "satchel_comparison", "register_comparison_stages()"})
    EXPECT_THAT(recipe.error().message, testing::HasSubstr(part));
}

}  // namespace
}  // namespace satchel::kvcache
