// `satchel documents`: the shelf, documents that have been read, for other chats.
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/on_run.h"
#include "app/cli/shelf_text.h"
#include "app/cli/workbench.h"

namespace satchel::app {
namespace {

struct DocumentsOptions {
  Options common;
  std::string show, remove;
};

using Shelf = std::vector<runtime::ShelvedDocument>;

constexpr const char* kEmpty =
    "The shelf is empty. `satchel chat --document FILE` puts a document there as long as its chat "
    "is saved; with --keep-documents it stays until you remove it.\n";

void list(const Shelf& shelf, Console& console) {
  if (!console.json()) return console.data(shelf.empty() ? kEmpty : describe(shelf));
  Json rows = Json::array();
  for (const runtime::ShelvedDocument& document : shelf) rows.push_back(to_json(document));
  console.document({{"schema", 1}, {"documents", rows}});
}

Result<void> show(storage::Store& store, const runtime::ShelvedDocument& document,
                  Console& console) {
  SATCHEL_TRY_ASSIGN(const std::string text, store.document_text(document.hash));
  if (!console.json()) {
    console.data(text);
    return {};
  }
  Json shown = to_json(document);
  shown["text"] = text;
  console.document({{"schema", 1}, {"document", shown}});
  return {};
}

Result<void> remove(storage::Store& store, const runtime::ShelvedDocument& document,
                    Console& console) {
  SATCHEL_TRY(store.remove_document(document.hash));
  console.note("Removed \"" + document.title +
               "\" from the shelf. Chats that have it keep it; other chats read it again.");
  return {};
}

Result<void> run_documents(const DocumentsOptions& options, Console& console) {
  const bool changes = !options.remove.empty();
  auto store = open_store(options.common,
                          changes ? storage::OpenMode::read_write : storage::OpenMode::read_only);
  Shelf shelf;
  if (store.ok()) {
    SATCHEL_TRY_ASSIGN(shelf, store.value()->shelf());
  } else if (!has_no_chats_yet(options.common, store.error())) {
    return std::move(store).error();
  }
  if (options.show.empty() && !changes) {
    list(shelf, console);
    return {};
  }
  SATCHEL_TRY_ASSIGN(const runtime::ShelvedDocument document,
                     find_shelved(shelf, changes ? options.remove : options.show));
  return changes ? remove(**store, document, console) : show(**store, document, console);
}

}  // namespace

void add_documents(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<DocumentsOptions>();
  CLI::App* command = app.add_subcommand(
      "documents", "List, show or remove documents that other chats can begin with");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  CLI::Option* const show =
      command->add_option("--show", options->show, "Print a document's text")->type_name("NAME|ID");
  command
      ->add_option("--remove", options->remove,
                   "Remove a document from the shelf: its words, and what was saved of it")
      ->type_name("NAME|ID")
      ->excludes(show);
  on_run(*command, choose, options, run_documents);
}

}  // namespace satchel::app
