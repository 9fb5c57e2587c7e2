// `satchel export`, `satchel import`, `satchel backup`: chats to files and back, without a model.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/chat_files/chat_file.h"
#include "app/chat_files/export_chat.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "runtime/limits/presets.h"

namespace satchel::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kImportBytesMax = 512u << 20;  // chosen: many years of chats

struct ExportOptions {
  Options common;
  std::string chat, to, format = "markdown";
};
struct ImportOptions {
  Options common;
  std::vector<std::string> files;
};
struct BackupOptions {
  Options common;
  std::string folder;
};

Result<void> run_export(const ExportOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto store, open_store(options.common, storage::OpenMode::read_only));
  SATCHEL_TRY_ASSIGN(const auto chat, store->library().find_chat(options.chat));
  if (!chat) return no_chat_named(options.chat);
  const bool is_json = options.format == "json" || console.json();
  SATCHEL_TRY_ASSIGN(
      const ExportedChat exported,
      export_chat(store->library(), *chat, is_json ? ChatFormat::json : ChatFormat::markdown));
  if (exported.n_damaged > 0)
    console.warning(std::to_string(exported.n_damaged) + " damaged messages are left out.");
  if (options.to.empty()) {
    console.data(exported.text);
    return {};
  }
  SATCHEL_TRY(write_whole_file(options.to, exported.text, ExistingFile::refuse));
  console.note("Wrote " + std::to_string(exported.n_messages) + " messages to \"" + options.to +
               "\".");
  return {};
}

// What the library takes no message of is known before the first chat is added.
Result<void> check_sizes(const ChatFile& file, const std::string& path) {
  for (const ChatFile::Message& message : file.messages)
    if (message.text.size() > storage::kMessageBytesMax)
      return Error{ErrorKind::corrupt, "CHAT_FILE",
                   "\"" + path + "\" has a message of more than 16 MiB. Nothing was imported."};
  return {};
}

// Its model reads it anew when it is opened: a file has words, and no tokens.
Result<runtime::ChatId> add(storage::Library& library, const ChatFile& file,
                            const runtime::ChatSetup& setup) {
  runtime::NewChat chat{.name = file.title, .title = file.title, .setup = setup};
  if (chat.name.empty()) chat.name = chat.title = "imported";
  chat.setup.system = file.system;
  std::vector<runtime::NewMessage> messages;
  if (file.system)
    messages.push_back({.role = runtime::Role::system, .text = *file.system, .tokens = {}});
  for (const ChatFile::Message& message : file.messages)
    messages.push_back({.role = message.role,
                        .state = message.state,
                        .text = message.text,
                        .tokens = {},
                        .kind = message.kind,
                        .title = message.title});
  return library.add_chat(chat, messages);
}

Error stopped(std::size_t n_imported, std::size_t n_all) {
  return {ErrorKind::cancelled, "STOPPED",
          "Stopped. " + std::to_string(n_imported) + " of " + std::to_string(n_all) +
              " chats were imported."};
}

Result<void> run_import(const ImportOptions& options, Console& console) {
  std::vector<ChatFile> files;  // all are read before anything is written
  for (const std::string& path : options.files) {
    SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(path, kImportBytesMax));
    SATCHEL_TRY_ASSIGN(std::vector<ChatFile> more, read_chat_files(text, path));
    for (ChatFile& file : more) {
      SATCHEL_TRY(check_sizes(file, path));
      files.push_back(std::move(file));
    }
  }
  const Paths paths = standard_paths(options.common.store);
  SATCHEL_TRY_ASSIGN(const fs::path model, chosen_model(paths, options.common.model));
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, chosen_recipe(options.common));
  const runtime::ChatSetup setup{.model_path = fs::absolute(model).string(),
                                 .recipe_json = recipe.json()};
  SATCHEL_TRY_ASSIGN(const auto store, open_store(options.common, storage::OpenMode::read_write));
  Json rows = Json::array();
  const std::stop_token stop = begin_interruptible();
  for (const ChatFile& file : files) {
    if (stop.stop_requested()) return stopped(rows.size(), files.size());
    SATCHEL_TRY_ASSIGN(const runtime::ChatId id, add(store->library(), file, setup));
    SATCHEL_TRY_ASSIGN(const storage::Chat chat, store->library().chat(id));
    rows.push_back({{"id", id.value}, {"name", chat.name}, {"messages", file.messages.size()}});
    console.note("Imported \"" + chat.name + "\" (" + std::to_string(file.messages.size()) +
                 " messages).");
  }
  if (console.json()) console.document({{"schema", 1}, {"chats", rows}});
  if (files.empty()) console.note("There was no chat with a message to import.");
  return {};
}

Result<void> run_backup(const BackupOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto store, open_store(options.common, storage::OpenMode::read_only));
  SATCHEL_TRY_ASSIGN(const fs::path file, store->back_up(options.folder));
  console.json() ? console.document({{"schema", 1}, {"file", file.string()}})
                 : console.note("Wrote all chats to \"" + file.string() +
                                "\". To restore it, close Satchel, move all files away whose names "
                                "begin with library.db, and put it there as library.db. It keeps "
                                "the words of chats that are deleted later.");
  return {};
}

}  // namespace

void add_export(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write a saved chat as Markdown or JSON");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  command->add_option("chat", options->chat, "The chat's name")->type_name("NAME")->required();
  command->add_option("-o,--output", options->to, "A new file; default: standard output")
      ->type_name("FILE");
  command->add_option("--format", options->format, "markdown or json")
      ->check(CLI::IsMember({"markdown", "json"}))
      ->capture_default_str();
  on_run(*command, choose, options, run_export);
}

void add_import(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import", "Add chats from files: of satchel export, ChatGPT or Open WebUI");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  command
      ->add_option("-m,--model", options->common.model,
                   "The model that the chats go on with; default: the bundled notes-mini")
      ->type_name("FILE");
  add_recipe_options(*command, options->common);
  command->add_option("files", options->files, "Markdown or JSON files")
      ->type_name("FILE")
      ->required();
  on_run(*command, choose, options, run_import);
}

void add_backup(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<BackupOptions>();
  CLI::App* command = app.add_subcommand(
      "backup", "Copy the library of all chats to a folder, also while Satchel runs");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  command->add_option("folder", options->folder, "Where the copy goes")
      ->type_name("FOLDER")
      ->required();
  on_run(*command, choose, options, run_backup);
}

}  // namespace satchel::app
