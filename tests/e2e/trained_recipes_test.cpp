// Recipes that need trained weights, as scripts see them: listed with what they need, refused where
// there are none.
#include <gtest/gtest.h>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {

std::size_t times_in(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(TrainedRecipes, are_listed_and_explained_with_what_they_need) {
  const Folder home;
  const auto all = run(home, {"recipes", "--json"}).json();
  std::size_t n = 0;
  for (const auto& recipe : all["recipes"]) {
    const std::string name = recipe["name"], needs = recipe["needs"];
    const bool is_trained = name == "locret" || name == "attention-gate" || name == "lococo";
    EXPECT_EQ(needs.empty(), !is_trained) << name;
    n += is_trained ? 1 : 0;
    if (!is_trained) continue;
    EXPECT_NE(needs.find("trained"), std::string::npos) << needs;
    const Finished explained = run(home, {"recipes", "--explain", name});
    if (name == "locret") {
      EXPECT_EQ(run(home, {"recipes", "--explain", name, "--json"}).json()["needs"], needs);
      EXPECT_NE(explained.out.find("  needs\n"), std::string::npos);
      continue;
    }
    EXPECT_EQ(explained.exit_code, 4) << explained.err;
    EXPECT_NE(explained.err.find(needs), std::string::npos) << explained.err;
  }
  EXPECT_EQ(n, 3u);
  EXPECT_EQ(times_in(run(home, {"recipes"}).out, "needs trained weights"), 3u);
}

TEST(TrainedRecipes, that_cannot_be_used_end_every_command_with_one_error_that_says_what_to_do) {
  const Folder home;
  for (const char* name : {"attention-gate", "lococo"})
    for (const Arguments& use : {Arguments{"chat", "--prompt", "Hi", "--recipe", name},
                                 Arguments{"estimate", "--tokens", "1200", "--recipe", name},
                                 Arguments{"eval", "recall", "--sets", "names-512",
                                           "--conversations", "1", "--recipes", name}}) {
      const Finished said = run(home, use);
      EXPECT_EQ(said.exit_code, 4) << use[0] << said.err;
      EXPECT_EQ(times_in(said.err, "[SELECTOR_WEIGHTS]"), 1u) << said.err;
      EXPECT_NE(said.err.find("The recipe \""), std::string::npos) << said.err;
    }
  const Finished said = run(home, {"chat", "--chat", "a"}, "Hello!\n/preset lococo\nAgain?\n");
  EXPECT_EQ(said.exit_code, 4) << said.err;
  EXPECT_EQ(times_in(said.err, "[SELECTOR_WEIGHTS]"), 1u) << said.err;
}

TEST(TrainedRecipes, that_have_their_weights_are_used_and_told_of) {
  const Folder home;
  EXPECT_EQ(run(home, {"info", kBundledModel, "--json"}).json()["selector"]["from"], "shipped");
  const Finished said = run(home, {"chat", "--prompt", "Hi", "--recipe", "locret"});
  EXPECT_EQ(said.exit_code, 0) << said.err;
}

}  // namespace
}  // namespace satchel::test
