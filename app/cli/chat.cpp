// `satchel chat`: one conversation in the terminal, interactive, piped, or one shot.
#include <memory>

#include "app/cache_quota.h"
#include "app/cli/chat_loop.h"
#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/on_run.h"
#include "app/cli/thoughts.h"
#include "runtime/grammar/gbnf.h"
#include "runtime/grammar/json_schema.h"

namespace satchel::app {
namespace {

// What the answers must be, from the file that says it.
Result<void> read_grammar(ChatOptions& options) {
  const bool is_schema = !options.schema_file.empty();
  const std::string& path = is_schema ? options.schema_file : options.grammar_file;
  if (path.empty()) return {};
  SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(path));
  Result<runtime::Grammar> made =
      is_schema ? runtime::grammar_of_schema(text) : runtime::parse_gbnf(text);
  if (!made.ok())
    return Error{ErrorKind::corrupt, made.error().code, path + ": " + made.error().message};
  options.common.sampling.rest.grammar =
      std::make_shared<const runtime::Grammar>(std::move(made).value());
  return {};
}

}  // namespace

void add_chat(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* command = app.add_subcommand("chat", "Chat with a model; the chat is saved as you go");
  command->add_option("--chat", options->name, "Continue this chat, or start it")
      ->check(not_empty())
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
  command
      ->add_option(
          "--document", options->documents,
          "Read a document first: text, Markdown, HTML, Word, EPUB or PDF; can be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--shelf", options->shelf,
                   "Begin with a document of the shelf (`satchel documents`): its name or id")
      ->type_name("NAME|ID");
  command->add_flag(
      "--keep-documents", options->keeps_documents,
      "Keep the chat's documents on the shelf for other chats, until you remove them");
  command->add_option("--system", options->system, "System prompt of a new chat")
      ->type_name("TEXT");
  add_thinking_options(*command, options->thinking, options->shows_thoughts);
  command->add_flag("--pack", options->packs,
                    "Compress documents before the first question instead of while you are idle");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  add_cache_quota(*command, options->cache_quota);
  add_thin_after(*command, options->thin_after_days);
  add_model_options(*command, options->common);
  add_recipe_options(*command, options->common);
  command->add_flag("--on-disk", options->common.on_disk,
                    "Keep on disk, exactly, what --budget has no room for, instead of compressing "
                    "it: the same answers, more slowly; recipes full and quest, on the CPU");
  add_sampling_options(*command, options->common.sampling);
  CLI::Option* const grammar =
      command
          ->add_option("--grammar", options->grammar_file,
                       "File with a GBNF grammar that every answer must follow")
          ->type_name("FILE");
  command
      ->add_option("--json-schema", options->schema_file,
                   "File with a JSON schema; every answer is JSON that it accepts")
      ->type_name("FILE")
      ->excludes(grammar);
  on_run(*command, choose, options, [](const ChatOptions& given, Console& console) -> Result<int> {
    ChatOptions chosen = given;
    SATCHEL_TRY(read_grammar(chosen));
    return ChatLoop(chosen, console).run();
  });
}

}  // namespace satchel::app
