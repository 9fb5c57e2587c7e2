#include "app/cli/completion.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/manual/manual_page.h"
#include "app/manual/option_table.h"

namespace satchel::app {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// `word` for each of them, with a space before.
template <class Items, class Word>
std::string joined(const Items& items, Word word) {
  std::string out;
  for (const auto& item : items) out += " " + word(item);
  return out;
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::string names(const CLI::App& command, bool with_value) {
  std::string out;
  for (const CLI::Option* option : options_of(command))
    if (!with_value || takes_value(*option))
      out += joined(names_of(*option), [](const std::string& name) { return name; });
  return out;
}

// The labels of a `case` over "<command so far> <word>" that leads on to a command.
std::string steps(const std::vector<Command>& commands, const std::string& between) {
  std::string out;
  for (const Command& command : commands)
    if (!command.path.empty())
      out +=
          (out.empty() ? "" : between) +
          quoted(command.path.find(' ') == std::string::npos ? " " + command.path : command.path);
  return out;
}

// What completes neither option nor command is left to the shell's own completion of files.
std::string bash(const std::vector<Command>& commands) {
  std::string script =
      "_satchel() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command= word options= valued= commands=\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$command $word\" in\n      " +
      steps(commands, " | ") +
      ") command=\"${command:+$command }$word\" ;;\n    esac\n  done\n"
      "  case \"$command\" in\n";
  for (const Command& command : commands)
    script += "    " + quoted(command.path) +
              ")\n      options=" + quoted(names(*command.app, false)) +
              "\n      valued=" + quoted(names(*command.app, true) + " ") + "\n      commands=" +
              quoted(joined(subcommands_of(*command.app),
                            [](const CLI::App* sub) { return sub->get_name(); })) +
              " ;;\n";
  return script +
         "  esac\n"
         "  COMPREPLY=()\n"
         "  [[ $valued == *\" $prev \"* ]] && return\n"
         "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
         "  else COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\")); fi\n"
         "}\n"
         "complete -o default -F _satchel satchel\n";
}

// "name:what it is", as _describe takes it.
std::string described(const std::string& name, const std::string& about) {
  return quoted(name + ":" + about);
}

std::string zsh(const std::vector<Command>& commands) {
  std::string script =
      "#compdef satchel\n"
      "_satchel() {\n"
      "  local command= word\n"
      "  local -a options valued commands\n"
      "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "    case \"$command $word\" in\n      " +
      steps(commands, " | ") +
      ") command=\"${command:+$command }$word\" ;;\n    esac\n  done\n"
      "  case \"$command\" in\n";
  for (const Command& command : commands) {
    script += "    " + quoted(command.path) + ")\n      options=(";
    for (const CLI::Option* option : options_of(*command.app))
      script += joined(names_of(*option), [&](const std::string& name) {
        return described(name, option->get_description());
      });
    script += ")\n      valued=(" + names(*command.app, true) + ")\n      commands=(" +
              joined(subcommands_of(*command.app),
                     [](const CLI::App* sub) {
                       return described(sub->get_name(), sub->get_description());
                     }) +
              ") ;;\n";
  }
  return script +
         "  esac\n"
         "  if (( ${valued[(Ie)${words[CURRENT-1]}]} )); then _files\n"
         "  elif [[ $PREFIX == -* ]]; then _describe -o option options\n"
         "  elif (( $#commands )); then _describe command commands\n"
         "  else _files; fi\n"
         "}\n"
         "if [[ $funcstack[1] == _satchel ]]; then _satchel \"$@\"; else compdef _satchel satchel; "
         "fi\n";
}

std::string fish(const std::vector<Command>& commands) {
  std::string script =
      "function __satchel_at\n"
      "  set -l command ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$command $word\"\n      case " +
      steps(commands, " ") +
      "\n        set command (string trim -- \"$command $word\")\n"
      "    end\n  end\n"
      "  test \"$command\" = \"$argv[1]\"\n"
      "end\n";
  for (const Command& command : commands) {
    const std::string begin =
        "complete -c satchel -n " + quoted("__satchel_at \"" + command.path + "\"");
    for (const CLI::App* sub : subcommands_of(*command.app))
      script +=
          begin + " -f -a " + sub->get_name() + " -d " + quoted(sub->get_description()) + "\n";
    for (const CLI::Option* option : options_of(*command.app)) {
      script += begin;
      for (const std::string& name : option->get_snames()) script += " -s " + name;
      for (const std::string& name : option->get_lnames()) script += " -l " + name;
      script +=
          (takes_value(*option) ? " -r -d " : " -d ") + quoted(option->get_description()) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const CLI::App& program, const std::string& shell) {
  const std::vector<Command> commands = commands_of(program);
  if (shell == "bash") return bash(commands);
  return shell == "zsh" ? zsh(commands) : fish(commands);
}

void add_completion(CLI::App& app, const Choose& choose) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print a script that completes commands and options in a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, choose, shell] {
    choose([&app, shell] {
      std::fputs(completion_script(app, *shell).c_str(), stdout);
      return int{kExitOk};
    });
  });
}

void add_manual(CLI::App& app, const Choose& choose) {
  CLI::App* command = app.add_subcommand("manual", "Print the manual page")->group("");
  command->callback([&app, choose] {
    choose([&app] {
      std::fputs(manual_page(app, SATCHEL_VERSION).c_str(), stdout);
      return int{kExitOk};
    });
  });
}

}  // namespace satchel::app
