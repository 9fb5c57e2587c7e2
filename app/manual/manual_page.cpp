#include "app/manual/manual_page.h"

#include <algorithm>
#include <cctype>

#include "app/manual/option_table.h"

namespace satchel::app {
namespace {

// Text that roff prints as it stands.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

void add_entry(std::string& page, const std::string& head, const CLI::Option& option) {
  const std::string value =
      takes_value(option) && option.nonpositional() ? " " + option.get_type_name() : "";
  const std::string otherwise = option.get_default_str();
  page += ".TP\n\\fB" + escaped(head) + "\\fR" +
          (value.empty() ? "" : "\\fI" + escaped(value) + "\\fR") + "\n" +
          escaped(option.get_description()) +
          (otherwise.empty() ? "" : " (default: " + escaped(otherwise) + ")") + "\n";
}

void add_options(std::string& page, const CLI::App& command) {
  for (const CLI::Option* option : positionals_of(command))
    add_entry(page, option->get_name(true), *option);
  for (const CLI::Option* option : options_of(command)) {
    std::string head;
    for (const std::string& name : names_of(*option)) head += (head.empty() ? "" : ", ") + name;
    add_entry(page, head, *option);
  }
}

std::string synopsis(const std::string& program, const Command& command) {
  std::string line = program + (command.path.empty() ? "" : " " + command.path);
  if (!options_of(*command.app).empty()) line += " [OPTIONS]";
  for (const CLI::Option* option : positionals_of(*command.app))
    line += " [" + option->get_name(true) + "]";
  return line;
}

// Paragraphs "Title: text" become sections.
void add_footer(std::string& page, std::string footer) {
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find("\n\n"), footer.size());
    std::string paragraph = footer.substr(0, end);
    if (paragraph.ends_with('\n')) paragraph.pop_back();  // of the last one
    footer.erase(0, footer.find_first_not_of('\n', end));
    const std::size_t colon = std::min(paragraph.find(':'), paragraph.size() - 1);
    const std::size_t text = paragraph.find_first_not_of(": \n", colon);
    if (text == std::string::npos) continue;
    page += ".SH " + upper(paragraph.substr(0, colon)) + "\n.nf\n" +
            escaped(paragraph.substr(text)) + "\n.fi\n";
  }
}

}  // namespace

std::string manual_page(const CLI::App& program, const std::string& version) {
  const std::string name = program.get_name();
  std::string page = ".TH " + upper(escaped(name)) + " 1 \"\" \"Satchel " + version +
                     "\" \"User Commands\"\n.SH NAME\n" + escaped(name) + " \\- " +
                     escaped(program.get_description()) + "\n.SH SYNOPSIS\n.nf\n";
  const std::vector<Command> commands = commands_of(program);
  for (const Command& command : commands)
    if (command.app->get_subcommands([](const CLI::App*) { return true; }).empty())
      page += escaped(synopsis(name, command)) + "\n";
  page += ".fi\n.SH OPTIONS\n";
  add_options(page, program);
  if (commands.size() > 1) page += ".SH COMMANDS\n";
  for (const Command& command : commands) {
    if (command.app == &program) continue;
    page += ".SS " + escaped(name + " " + command.path) + "\n" +
            escaped(command.app->get_description()) + "\n";
    add_options(page, *command.app);
  }
  if (!program.get_footer().empty()) add_footer(page, program.get_footer());
  return page;
}

}  // namespace satchel::app
