// `satchel chat`: one conversation in the terminal, interactive, piped, or one shot.
#include <memory>

#include "app/cli/chat_loop.h"
#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/on_run.h"
#include "app/cli/thoughts.h"

namespace satchel::app {

void add_chat(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* command = app.add_subcommand("chat", "Chat with a model; the chat is saved as you go");
  command->add_option("--chat", options->name, "Continue this chat, or start it")
      ->type_name("NAME");
  command
      ->add_option("-p,--prompt", options->prompt,
                   "One question, one answer; saved only with --chat")
      ->type_name("TEXT")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return is_blank(text) ? std::string("the prompt is empty") : std::string();
          },
          ""));
  command->add_option("--document", options->documents, "Read a text file first; can be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--system", options->system, "System prompt of a new chat")
      ->type_name("TEXT");
  add_thinking_options(*command, options->thinking, options->shows_thoughts);
  command->add_flag("--pack", options->packs,
                    "Compress documents before the first question instead of while you are idle");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  add_model_options(*command, options->common);
  add_recipe_options(*command, options->common);
  add_sampling_options(*command, options->common);
  on_run(*command, choose, options,
         [](const ChatOptions& given, Console& console) { return ChatLoop(given, console).run(); });
}

}  // namespace satchel::app
