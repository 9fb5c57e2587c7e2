#include "app/eval/commands/needle_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace satchel::app {
namespace {

class NeedleFile : public testing::Test {
 protected:
  ~NeedleFile() override { std::filesystem::remove(path_); }
  Result<std::vector<eval::NeedleContext>> read(const std::string& line) {
    std::ofstream(path_) << line << "\n";
    return read_needle_file(path_);
  }
  const std::string path_ = testing::TempDir() + "needle_file_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".jsonl";
};

TEST_F(NeedleFile, a_context_may_have_parts_and_a_question_several_values) {
  const auto plain =
      read(R"({"context": "One.", "questions": [{"ask": "Who?", "value": "Corwin"}]})");
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain.value()[0].parts, std::vector<std::string>{"One."});
  EXPECT_EQ(plain.value()[0].needles[0].values, std::vector<std::string>{"Corwin"});
  const auto several = read(
      R"({"context": ["One.", "Two."], "questions": [{"ask": "Who?", "values": ["a", "b"]}]})");
  ASSERT_TRUE(several.ok()) << several.error().message;
  EXPECT_EQ(several.value()[0].parts, (std::vector<std::string>{"One.", "Two."}));
  EXPECT_EQ(several.value()[0].needles[0].values, (std::vector<std::string>{"a", "b"}));
}

TEST_F(NeedleFile, what_is_asked_for_may_have_a_name) {
  const std::string rest = R"("context": "One.", "questions": [{"ask": "Who?", "value": "a"}]})";
  EXPECT_EQ(read("{" + rest).value()[0].ability, "");
  EXPECT_EQ(read(R"({"ability": "dates", )" + rest).value()[0].ability, "dates");
}

TEST_F(NeedleFile, a_list_without_texts_is_refused) {
  for (const char* line :
       {R"({"context": [], "questions": [{"ask": "Who?", "value": "a"}]})",
        R"({"context": ["One.", 2], "questions": [{"ask": "Who?", "value": "a"}]})",
        R"({"context": "One.", "questions": [{"ask": "Who?", "values": []}]})",
        R"({"context": "One.", "questions": [{"ask": "Who?", "values": [""]}]})"}) {
    const auto refused = read(line);
    ASSERT_FALSE(refused.ok()) << line;
    EXPECT_EQ(refused.error().code, "DOC_FORMAT");
  }
}

}  // namespace
}  // namespace satchel::app
