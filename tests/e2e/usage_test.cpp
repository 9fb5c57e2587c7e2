// What is wrong with a command line, said before any work is done.
#include <gtest/gtest.h>

#include "process.h"

namespace satchel::test {
namespace {

TEST(Usage, numbers_below_what_they_count_are_refused) {
  const Folder home;
  for (const Arguments& arguments : {Arguments{"bench", "--depths", "16", "--threads", "-3"},
                                     {"bench", "--depths", "-16"},
                                     {"chat", "-p", "Hi", "--threads", "-1"},
                                     {"chat", "-p", "Hi", "-t", "257"},
                                     {"chat", "-p", "Hi", "-n", "-5"},
                                     {"chat", "-p", "Hi", "--top-k", "-1"},
                                     {"chat", "-p", "Hi", "--seed", "-1"},
                                     {"estimate", "--tokens", "0"},
                                     {"estimate", "--tokens", "-1"},
                                     {"eval", "recall", "--conversations", "-1"}}) {
    const Finished refused = run(home, arguments);
    EXPECT_EQ(refused.exit_code, 2) << arguments[arguments.size() - 2];
    EXPECT_NE(refused.err.find("\"" + arguments.back() + "\" is not a whole number from "),
              std::string::npos)
        << refused.err;
  }
  EXPECT_EQ(run(home, {"estimate", "--tokens", "1", "--threads", "0"}).exit_code, 0);
}

TEST(Usage, the_demo_says_which_recipe_it_takes) {
  EXPECT_NE(run(Folder(), {"demo", "--help"}).out.find("default: balanced"), std::string::npos);
  EXPECT_NE(run(Folder(), {"chat", "--help"}).out.find("default: full"), std::string::npos);
}

}  // namespace
}  // namespace satchel::test
