// What `satchel chat` takes as a message, a document, a command.
#include <gtest/gtest.h>

#include <sstream>

#include "process.h"

namespace satchel::test {
namespace {

TEST(ChatInput, a_message_may_have_several_lines_and_blank_ones_are_none) {
  const Folder home;
  const Finished said =
      run(home, {"chat", "--chat", "c", "-n", "2"}, "   \n\"\"\"\nOne bell.\nTwo bells.\n\"\"\"\n");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  const auto rows = run(home, {"chats", "--show", "c", "--json"}).json()["messages"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["text"], "One bell.\nTwo bells.");
  EXPECT_EQ(run(home, {"chat", "--prompt", " "}).exit_code, 2);
}

TEST(ChatInput, a_quoted_message_is_no_command_whatever_it_begins_with) {
  const Folder home;
  const Finished said = run(home, {"chat", "--chat", "c", "-n", "2"},
                            "\"\"\"\n/quit\n\"\"\"\n\"\"\"/think maybe\nNo.\"\"\"\n/quit\nMore.\n");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  const auto rows = run(home, {"chats", "--show", "c", "--json"}).json()["messages"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["text"], "/quit");
  EXPECT_EQ(rows[2]["text"], "/think maybe\nNo.");
}

TEST(ChatInput, an_end_inside_a_quoted_message_sends_it_and_says_so) {
  const Folder home;
  const Finished said = run(home, {"chat", "--chat", "c", "-n", "2"}, "\"\"\"\nHello there.\n");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_NE(said.err.find("The input ended inside a message"), std::string::npos) << said.err;
  const auto rows = run(home, {"chats", "--show", "c", "--json"}).json()["messages"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["text"], "Hello there.");
}

TEST(ChatInput, a_command_that_is_none_ends_a_chat_in_a_pipe) {
  const Folder home;
  const Finished said = run(home, {"chat", "--chat", "c", "-n", "2"}, "/foo bar\nHello.\n");
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_NE(said.err.find("There is no command /foo. /help lists"), std::string::npos) << said.err;
  EXPECT_EQ(run(home, {"chats", "--show", "c", "--json"}).json()["messages"].size(), 0u);
}

TEST(ChatInput, lines_pasted_at_a_terminal_are_one_message_and_no_command) {
  const Folder home;
  Terminal terminal(home, "c");
  terminal.read_until("> ");
  terminal.type("\x1b[200~/quit\nTwo bells.\n\x1b[201~");
  terminal.type("/quit");
  terminal.read_until("");
  EXPECT_EQ(terminal.wait(), 0);
  const auto rows = run(home, {"chats", "--show", "c", "--json"}).json()["messages"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["text"], "/quit\nTwo bells.");
}

TEST(ChatInput, a_reading_that_is_stopped_at_a_terminal_leaves_the_chat_open) {
  const Folder home;
  std::string text;
  for (int i = 0; i < 12000; ++i) text += "bell " + std::to_string(i) + ". ";
  const auto bells = home.write("bells.txt", text);
  Terminal terminal(home, "c", {"--recipe", "satchel", "--document", bells.string()});
  terminal.read_until("Reading");
  terminal.type("\x03");
  terminal.read_until("Questions can be asked now");
  terminal.type("/parts 1-2,2");
  terminal.read_until("The next answer sees parts 1 and 2 of ");
  terminal.type("/quit");
  terminal.read_until("");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST(ChatInput, answers_in_a_pipe_are_a_line_of_json_each) {
  const Finished said =
      run(Folder(), {"chat", "-n", "2", "--json"}, "One bell.\n/memory\nTwo bells.\n");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  std::vector<nlohmann::json> answers;
  std::istringstream lines(said.out);
  for (std::string line; std::getline(lines, line);) answers.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(answers.size(), 2u) << said.out;
  EXPECT_LT(answers[0]["answer_id"], answers[1]["answer_id"]);
  EXPECT_EQ(run(Folder(), {"chat", "--json"}, "/memory\n").out, "") << "there was no answer";
}

TEST(ChatInput, several_documents_are_read_in_turn) {
  const Folder home;
  const auto one = home.write("one.txt", "Buy milk."), two = home.write("two.txt", "Buy bread.");
  const auto said = run(home, {"chat", "--document", one.string(), "--document", two.string(),
                               "--prompt", "What?", "-n", "2", "--json"})
                        .json();
  EXPECT_EQ(said["document_ids"].size(), 2u);
}

TEST(ChatInput, a_document_that_a_saved_chat_has_is_not_read_again) {
  const Folder home;
  const auto read = [&](const char* text) {
    const auto milk = home.write("milk.txt", text);
    return run(home, {"chat", "--chat", "a", "--document", milk.string(), "--prompt", "What?", "-n",
                      "2", "--json"});
  };
  EXPECT_EQ(read("Buy milk.").json()["document_ids"].size(), 1u);
  const Finished again = read("Buy milk.");
  EXPECT_EQ(again.json()["document_ids"].size(), 0u);
  EXPECT_NE(again.err.find("\"milk.txt\" is already in this chat"), std::string::npos) << again.err;
  EXPECT_EQ(read("Buy bread.").json()["document_ids"].size(), 1u) << "another text";
}

TEST(ChatInput, documents_are_all_looked_for_before_the_first_is_read) {
  const Folder home;
  const auto one = home.write("one.txt", "Buy milk.");
  const Finished said =
      run(home, {"chat", "--document", one.string(), "--document", "none.txt", "-p", "What?"});
  EXPECT_EQ(said.exit_code, 3);
  EXPECT_NE(said.err.find("There is no file \"none.txt\"."), std::string::npos) << said.err;
  EXPECT_EQ(said.err.find("Read "), std::string::npos) << said.err;
  const std::string help = run(home, {"chat", "--help"}).out;
  EXPECT_NE(help.find("--document FILE"), std::string::npos) << help;
  EXPECT_EQ(help.find("--document FILE ..."), std::string::npos) << help;
}

TEST(ChatInput, a_document_that_is_no_regular_file_is_not_called_missing) {
  const Finished said = run(Folder(), {"chat", "--document", "/dev/null", "-p", "What?"});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_NE(said.err.find("\"/dev/null\" is a device or a pipe, not a regular file."),
            std::string::npos)
      << said.err;
}

TEST(ChatInput, a_document_too_long_for_the_model_is_named) {
  const Folder home;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "bell " + std::to_string(i) + ". ";
  const auto shorter = home.write("short.txt", "Buy milk."), longer = home.write("long.txt", text);
  const Finished said = run(
      home, {"chat", "--document", shorter.string(), "--document", longer.string(), "-p", "What?"});
  EXPECT_EQ(said.exit_code, 5);
  EXPECT_NE(said.err.find("long.txt\" was not read. This needs "), std::string::npos) << said.err;
}

TEST(ChatInput, commands_that_lack_something_say_what) {
  const auto why = [](const char* line) { return run(Folder(), {"chat"}, line).err; };
  EXPECT_NE(why("/document\n").find("Name a file: /document FILE."), std::string::npos);
  EXPECT_NE(why("/think maybe\n").find("Enter /think on, /think off"), std::string::npos);
  const std::string none = why("/document ~/none.txt\n");
  EXPECT_NE(none.find("/none.txt\". [DOC_NOT_FOUND]"), std::string::npos) << none;
  EXPECT_EQ(none.find('~'), std::string::npos) << none;
}

}  // namespace
}  // namespace satchel::test
