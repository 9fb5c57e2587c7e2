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
                                     {"serve", "--thin-after", "-5"},
                                     {"chat", "--thin-after", "abc"},
                                     {"chat", "--thin-after", ""},
                                     {"eval", "needle", "--contexts", "0"},
                                     {"eval", "recall", "--conversations", "-1"}}) {
    const Finished refused = run(home, arguments);
    EXPECT_EQ(refused.exit_code, 2) << arguments[arguments.size() - 2];
    EXPECT_NE(refused.err.find("\"" + arguments.back() + "\" is not a whole number from "),
              std::string::npos)
        << refused.err;
  }
  EXPECT_EQ(run(home, {"estimate", "--tokens", "1", "--threads", "0"}).exit_code, 0);
}

TEST(Usage, a_share_is_a_number_from_a_hundredth_to_one) {
  for (const char* command : {"chat", "estimate", "bench"})
    for (const char* share : {"nan", "0", "1.5", "-0.5", "half"}) {
      const Finished refused = run(Folder(), {command, "--recipe", "compact", "--keep", share});
      EXPECT_EQ(refused.exit_code, 2) << command << " " << share;
      EXPECT_NE(refused.err.find(std::string("\"") + share + "\" is not a share from 0.01 to 1"),
                std::string::npos)
          << refused.err;
    }
}

TEST(Usage, a_chat_is_not_removed_and_restored_at_once) {
  const Finished refused = run(Folder(), {"chats", "--remove", "a", "--restore", "a"});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
}

TEST(Usage, a_command_that_is_none_is_named) {
  for (const Arguments& arguments : {Arguments{"foo"}, {"eval", "foo"}, {"foo", "--json"}}) {
    const Finished refused = run(Folder(), arguments);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("Unknown command \"foo\".\n"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(run(Folder(), {"info", "--foo"}).err.find("Unknown command"), std::string::npos);
}

TEST(Usage, activations_are_16_or_8_and_a_refusal_says_so) {
  const auto why = [](const std::string& bits, const std::string& backend) {
    return run(Folder(), {"chat", "-p", "Hi", "--backend", backend, "--activations", bits});
  };
  const Finished word = why("eight", "cpu");
  EXPECT_EQ(word.exit_code, 2);
  EXPECT_NE(word.err.find("use 16 or 8"), std::string::npos) << word.err;
  const Finished reference = why("8", "reference");
  EXPECT_EQ(reference.exit_code, 2);
  EXPECT_NE(reference.err.find("Choose 16 bits, or the backend cpu."), std::string::npos)
      << reference.err;
}

TEST(Usage, output_that_cannot_be_written_is_an_error) {
  const Folder home;
  for (const Arguments& arguments : {Arguments{"systems"},
                                     {"recipes", "--json"},
                                     {"--help"},
                                     {"--version"},
                                     {"completion", "bash"}})
    for (const char* device : {"/dev/full", ""}) {
      const Finished lost = run_without_output(home, arguments, device);
      EXPECT_EQ(lost.exit_code, 7) << arguments[0] << " " << device;
      const std::string why = *device == '\0' ? "Bad file descriptor" : "No space left on device";
      EXPECT_NE(lost.err.find("The output could not be written: " + why + ". [STORAGE]"),
                std::string::npos)
          << arguments[0] << ": " << lost.err;
    }
}

TEST(Usage, a_file_that_is_not_what_it_should_be_is_bad_input) {
  const Folder home;
  const std::string empty = home.write("empty", "").string();
  EXPECT_EQ(run(home, {"import", empty}).exit_code, 4);
  EXPECT_EQ(run(home, {"chat", "--json-schema", empty, "-p", "Hi"}).exit_code, 4);
  EXPECT_EQ(run(home, {"chat", "--grammar", empty, "-p", "Hi"}).exit_code, 4);
}

TEST(Usage, sizes_are_read_in_one_way) {
  const Folder home;
  for (const char* option : {"--cache-quota", "--budget"}) {
    for (const char* size : {"-3", "many", "1.5XB"}) {
      const Finished refused = run(home, {"chat", "-p", "Hi", option, size});
      EXPECT_EQ(refused.exit_code, 2) << option << size;
      EXPECT_NE(refused.err.find(std::string("\"") + size + "\" is not a size."), std::string::npos)
          << refused.err;
    }
    for (const char* size : {"1.5GB", "1TB", "2 gib"}) {
      const Finished taken = run(home, {"chat", "-n", "1", "-p", "Hi", option, size});
      EXPECT_EQ(taken.err.find("is not a size"), std::string::npos) << option << taken.err;
    }
  }
}

TEST(Usage, an_empty_name_is_not_the_default) {
  for (const char* option : {"--chat", "--store", "--model"}) {
    const Finished refused = run(Folder(), {"chat", option, "", "-n", "1", "-p", "Hi"});
    EXPECT_EQ(refused.exit_code, 2) << option;
    EXPECT_NE(refused.err.find("it is empty"), std::string::npos) << refused.err;
  }
}

TEST(Usage, the_name_of_a_new_chat_is_one_line_that_a_list_can_show) {
  const Folder home;
  for (const std::string& name : {std::string("a\nb"), std::string(201, 'a'), std::string("\xff")})
    EXPECT_EQ(run(home, {"chat", "--chat", name, "-n", "1", "-p", "Hi"}).exit_code, 2);
}

TEST(Usage, a_message_is_utf_8) {
  const Folder home;
  const Finished option = run(home, {"chat", "-n", "1", "-p", "a\xff\xfe"});
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_NE(option.err.find("The message is not UTF-8 text: byte 1 is invalid."), std::string::npos)
      << option.err;
  EXPECT_EQ(run(home, {"chat", "--chat", "c", "-n", "1"}, "a\xff\n").exit_code, 2);
}

TEST(Usage, hosts_and_origins_that_can_never_match_are_refused) {
  for (const Arguments& arguments : {Arguments{"serve", "--allow-origin", "bad"},
                                     {"serve", "--allow-origin", "https://a.example/"},
                                     {"serve", "--allow-host", "a b"},
                                     {"serve", "--allow-host", "name:8421"}}) {
    const Finished refused = run(Folder(), arguments);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("\"" + arguments.back() + "\" can never match."), std::string::npos)
        << refused.err;
  }
}

TEST(Usage, a_commands_help_shows_no_examples_of_others) {
  for (const char* command : {"eval", "chats"})
    EXPECT_EQ(run(Folder(), {command, "--help"}).out.find("Examples:"), std::string::npos);
  EXPECT_NE(run(Folder(), {"--help"}).out.find("Examples:"), std::string::npos);
}

TEST(Usage, the_demo_says_which_recipe_it_takes) {
  EXPECT_NE(run(Folder(), {"demo", "--help"}).out.find("default: compact"), std::string::npos);
  EXPECT_NE(run(Folder(), {"chat", "--help"}).out.find("default: full"), std::string::npos);
}

}  // namespace
}  // namespace satchel::test
