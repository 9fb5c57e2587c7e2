// Recipes that need trained weights, as scripts see them: listed with what they need, refused where
// there are none.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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
    EXPECT_EQ(run(home, {"recipes", "--explain", name, "--json"}).json()["needs"], needs);
    EXPECT_NE(run(home, {"recipes", "--explain", name}).out.find("  needs\n"), std::string::npos);
  }
  EXPECT_EQ(n, 3u);
  EXPECT_EQ(times_in(run(home, {"recipes"}).out, "needs trained weights"), 3u);
}

// With a model that nothing was trained for.
TEST(TrainedRecipes, that_cannot_be_used_end_every_command_with_one_error_that_says_what_to_do) {
  const Folder home;
  std::ifstream bundled(kBundledModel, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(bundled), {});
  bytes[bytes.size() - 40] ^= 1;  // of a weight: then it is another model
  const std::string model = home.write("other.gguf", bytes).string();
  for (const char* name : {"locret", "attention-gate", "lococo"})
    for (const Arguments& use :
         {Arguments{"chat", "--model", model, "--prompt", "Hi", "--recipe", name},
          Arguments{"estimate", "--model", model, "--tokens", "1200", "--recipe", name}}) {
      const Finished said = run(home, use);
      EXPECT_EQ(said.exit_code, 3) << use[0] << said.err;
      EXPECT_EQ(times_in(said.err, "[SELECTOR_WEIGHTS]"), 1u) << said.err;
      EXPECT_NE(said.err.find(std::string("Train them with training/") + name), std::string::npos)
          << said.err;
    }
}

TEST(TrainedRecipes, that_have_their_weights_are_used_and_told_of) {
  const Folder home;
  const auto selectors = run(home, {"info", kBundledModel, "--json"}).json()["selectors"];
  for (const char* name : {"locret", "attention-gate", "lococo"}) {
    EXPECT_EQ(selectors[name]["from"], "shipped") << name;
    const Finished said = run(home, {"chat", "--prompt", "Hi", "--recipe", name});
    EXPECT_EQ(said.exit_code, 0) << name << said.err;
  }
}

}  // namespace
}  // namespace satchel::test
