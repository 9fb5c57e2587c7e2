// A model that thinks, on the command line: what is thought is told apart from what is said.
#include <gtest/gtest.h>

#include "process.h"
#include "support/chain_model.h"

namespace satchel::test {
namespace {

class Thinking : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_chain(thoughtful_chain(), model())); }
  std::filesystem::path model() const { return home_.path() / "chain.gguf"; }
  Finished chat(Arguments more, const std::string& input = "") const {
    Arguments all = {"chat", "--model", model().string(), "--recipe", "full"};
    all.insert(all.end(), more.begin(), more.end());
    return run(home_, all, input);
  }
  static bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  }
  const Folder home_;
};

TEST_F(Thinking, only_the_answer_is_on_stdout_and_thoughts_are_a_line_on_stderr) {
  const Finished said = chat({"--prompt", "Well?"});
  EXPECT_EQ(said.out, "Yes\n");
  EXPECT_TRUE(has(said.err, "Thought for ")) << said.err;
  EXPECT_TRUE(has(said.err, " (5 tokens)")) << said.err;
  EXPECT_TRUE(has(said.err, "Use --show-thoughts to see the thoughts.")) << said.err;
  EXPECT_FALSE(has(said.err, "Hm")) << said.err;
}

TEST_F(Thinking, thoughts_that_shall_be_shown_are_on_stderr) {
  const Finished said = chat({"--prompt", "Well?", "--show-thoughts"});
  EXPECT_EQ(said.out, "Yes\n");
  EXPECT_TRUE(has(said.err, "Hm\n\n")) << said.err;
  EXPECT_FALSE(has(said.err, "Use --show-thoughts")) << said.err;
}

TEST_F(Thinking, has_fields_of_its_own_in_json) {
  const auto json = chat({"--prompt", "Well?", "--json"}).json();
  EXPECT_EQ(json["answer"], "Yes");
  EXPECT_EQ(json["tokens"], 3);
  EXPECT_EQ(json["thoughts"], "Hm");
  EXPECT_EQ(json["thought_tokens"], 5);
  EXPECT_GT(json["thought_ms"].get<double>(), 0);
  EXPECT_LE(json["thought_ms"].get<double>(), json["generate_ms"].get<double>());
  const auto off = chat({"--prompt", "Well?", "--think", "off", "--json"}).json();
  EXPECT_EQ(off["answer"], "Yes");
  EXPECT_EQ(off["thoughts"], "");
  EXPECT_EQ(off["thought_ms"], 0);
}

TEST_F(Thinking, is_asked_for_and_turned_off_by_commands) {
  const Finished said = chat({"--chat", "c"}, "Well?\n/thoughts\n/think off\nWell?\n/thoughts\n");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(said.out, "Yes\nYes\n");
  EXPECT_TRUE(has(said.err, "\nHm\n")) << said.err;
  EXPECT_TRUE(has(said.err, "The model did not think before the last answer.\n")) << said.err;
  EXPECT_EQ(said.err.find("Thought for "), said.err.rfind("Thought for ")) << "once: " << said.err;
  const Finished later = chat({"--chat", "c"}, "/thoughts\n/think auto\nWell?\n/thoughts\n");
  EXPECT_EQ(later.out, "Yes\n");
  EXPECT_TRUE(has(later.err, "\nHm\n")) << later.err;
}

TEST_F(Thinking, that_was_turned_off_stays_off_in_a_new_chat) {
  const Finished said = chat({"--chat", "c"}, "/think off\n/new\nWell?\n");
  EXPECT_EQ(said.out, "Yes\n");
  EXPECT_FALSE(has(said.err, "Thought for ")) << said.err;
}

}  // namespace
}  // namespace satchel::test
