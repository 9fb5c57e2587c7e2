// The manual page and the scripts that complete a command line say what --help says.
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <set>
#include <sstream>

#include "process.h"

namespace satchel::test {
namespace {

struct Help {
  std::set<std::string> options;  // "-m", "--model"
  std::vector<std::string> commands;
};

Help help_of(Arguments command) {
  command.push_back("--help");
  std::istringstream lines(run(Folder(), command).out);
  Help help;
  const std::regex name("(^|,)(--?[a-z][a-z0-9-]*)");
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  ", 0) != 0) {
      section = line;
      continue;
    }
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (section == "Subcommands:" && line[2] != ' ') help.commands.push_back(first);
    if (section != "Options:" || line[2] != '-') continue;
    for (std::sregex_iterator at(first.begin(), first.end(), name), end; at != end; ++at)
      help.options.insert((*at)[2].str());
  }
  return help;
}

std::string joined(const Arguments& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Every command with its help, the program's own first.
std::vector<std::pair<Arguments, Help>> all_help() {
  std::vector<std::pair<Arguments, Help>> all{{{}, help_of({})}};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& name : std::vector<std::string>(all[i].second.commands)) {
      Arguments command = all[i].first;
      command.push_back(name);
      all.emplace_back(command, help_of(command));
    }
  return all;
}

// What bash offers after `command` for a word that begins so.
std::set<std::string> bash_offers(const Folder& home, const Arguments& command,
                                  const std::string& begun) {
  const std::string script = home.write("satchel.bash", run(home, {"completion", "bash"}).out);
  const std::string line = "bash -c 'source " + script + "; COMP_WORDS=(satchel " +
                           joined(command) + " \"" + begun +
                           "\"); COMP_CWORD=" + std::to_string(command.size() + 1) +
                           "; _satchel; printf \"%s\\n\" \"${COMPREPLY[@]}\"'";
  std::set<std::string> offers;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return offers;
  char word[256];
  while (std::fgets(word, sizeof word, pipe) != nullptr)
    if (word[0] != '\n') offers.insert(std::string(word, std::string(word).size() - 1));
  pclose(pipe);
  return offers;
}

TEST(Manual, every_command_and_option_of_the_help_is_in_the_manual_page) {
  const std::string page = run(Folder(), {"manual"}).out;
  const auto all = all_help();
  ASSERT_GT(all.size(), 18u);
  for (const auto& [command, help] : all) {
    const std::string head = command.empty() ? ".SH OPTIONS" : ".SS satchel " + joined(command);
    const std::size_t begin = page.find(head + "\n");
    ASSERT_NE(begin, std::string::npos) << head;
    const std::string section = page.substr(begin, page.find("\n.S", begin) - begin);
    for (const std::string& option : help.options) {
      const std::string escaped = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_TRUE(section.find(escaped + "\\fR") != std::string::npos ||
                  section.find(escaped + ", ") != std::string::npos)
          << head << " lacks " << option;
    }
  }
}

TEST(Manual, bash_offers_the_commands_and_options_of_the_help) {
  const Folder home;
  for (const auto& [command, help] : all_help()) {
    EXPECT_EQ(bash_offers(home, command, "-"), help.options) << joined(command);
    EXPECT_EQ(bash_offers(home, command, ""),
              std::set<std::string>(help.commands.begin(), help.commands.end()))
        << joined(command);
  }
  EXPECT_EQ(bash_offers(home, {"chat", "--model"}, ""), std::set<std::string>());  // a file
  EXPECT_EQ(bash_offers(home, {"chat"}, "--mo"), std::set<std::string>{"--model"});
}

TEST(Manual, zsh_and_fish_know_the_options_of_the_help) {
  const std::string zsh = run(Folder(), {"completion", "zsh"}).out;
  const std::string fish = run(Folder(), {"completion", "fish"}).out;
  for (const auto& [command, help] : all_help()) {
    const std::string at = "    '" + joined(command) + "')\n";
    const std::size_t begin = zsh.find(at);
    ASSERT_NE(begin, std::string::npos) << at;
    const std::string branch = zsh.substr(begin, zsh.find(";;", begin) - begin);
    for (const std::string& option : help.options) {
      EXPECT_NE(branch.find("'" + option + ":"), std::string::npos) << at << option;
      const bool is_long = option.rfind("--", 0) == 0;
      const std::regex line(R"re(__satchel_at ")re" + joined(command) + R"re("'.*)re" +
                            (is_long ? " -l " + option.substr(2) : " -s " + option.substr(1)) +
                            " ");
      EXPECT_TRUE(std::regex_search(fish, line)) << joined(command) << option;
    }
  }
}

TEST(Manual, a_shell_that_is_not_known_is_refused) {
  EXPECT_EQ(run(Folder(), {"completion", "tcsh"}).exit_code, 2);
}

}  // namespace
}  // namespace satchel::test
