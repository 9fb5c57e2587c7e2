// `satchel chats`: what is saved.
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/meter_text.h"
#include "app/cli/workbench.h"
#include "runtime/fidelity/meter.h"
#include "storage/store.h"

namespace satchel::app {
namespace {

struct ChatsOptions {
  Options common;
  std::string show, ledger, remove;
};

std::string_view name(kvcache::Role role) {
  switch (role) {
    case kvcache::Role::system:
      return "system";
    case kvcache::Role::user:
      return "user";
    case kvcache::Role::assistant:
      return "assistant";
  }
  return "";
}

std::string_view name(kvcache::MessageState state) {
  switch (state) {
    case kvcache::MessageState::complete:
      return "complete";
    case kvcache::MessageState::streaming:
      return "streaming";
    case kvcache::MessageState::interrupted:
      return "interrupted";
    case kvcache::MessageState::damaged:
      return "damaged";
  }
  return "";
}

// What stands over a message: "[user]", "[user, notes.txt]", "[assistant, interrupted]".
std::string heading(const kvcache::StoredMessage& message) {
  std::string text = "[" + std::string(name(message.role));
  if (!message.title.empty()) text += ", " + message.title;
  if (message.state != kvcache::MessageState::complete)
    text += ", " + std::string(name(message.state));
  return text + "]\n";
}

Result<void> list(storage::Store& store, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto chats, store.library().chats());
  Json rows = Json::array();
  std::string text;
  for (const storage::Chat& chat : chats) {
    rows.push_back({{"id", chat.id.value},
                    {"name", chat.name},
                    {"title", chat.title},
                    {"messages", chat.n_messages},
                    {"tokens", chat.n_tokens},
                    {"model", chat.setup.model_path},
                    {"created_ms", chat.created_ms},
                    {"used_ms", chat.used_ms}});
    text += date_text(chat.used_ms) + "  " + with_thousands(chat.n_messages) + " messages  " +
            with_thousands(chat.n_tokens) + " tokens  " +
            (chat.name.empty() ? chat.title : chat.name) + "\n";
  }
  if (console.json()) {
    console.document({{"schema", 1}, {"chats", rows}});
  } else {
    console.data(text.empty() ? "No chats yet. `satchel chat` begins one.\n" : text);
  }
  return {};
}

Result<storage::Chat> find(storage::Store& store, const std::string& wanted) {
  SATCHEL_TRY_ASSIGN(std::optional<storage::Chat> chat, store.library().find_chat(wanted));
  if (chat) return std::move(*chat);
  return Error{ErrorKind::not_found, "CHAT_NOT_FOUND",
               "There is no chat named \"" + wanted + "\". `satchel chats` lists what is saved."};
}

Result<void> show(storage::Store& store, const std::string& wanted, Console& console) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, find(store, wanted));
  SATCHEL_TRY_ASSIGN(const auto messages, store.library().messages(chat.id));
  Json rows = Json::array();
  std::string text;
  for (const kvcache::StoredMessage& message : messages) {
    const bool is_document = message.kind == kvcache::MessageKind::document;
    rows.push_back({{"id", message.id.value},
                    {"role", name(message.role)},
                    {"kind", is_document ? "document" : "text"},
                    {"title", message.title},
                    {"state", name(message.state)},
                    {"text", message.text},
                    {"tokens", message.tokens.size()},
                    {"created_ms", message.created_ms}});
    const bool is_damaged = message.state == kvcache::MessageState::damaged;
    text +=
        heading(message) +
        (is_damaged ? "(It cannot be shown. A backup of the library may have it.)" : message.text) +
        "\n\n";
  }
  if (console.json()) {
    console.document({{"schema", 1}, {"name", chat.name}, {"messages", rows}});
  } else {
    console.data(text);
  }
  return {};
}

// What the chat's session kept when it was saved last.
Result<void> show_ledger(storage::Store& store, const std::string& wanted, Console& console) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, find(store, wanted));
  SATCHEL_TRY_ASSIGN(const auto text, store.library().note(chat.id, runtime::kMeterNote));
  const runtime::Meter meter =
      (text ? runtime::meter_from(*text) : std::nullopt).value_or(runtime::Meter());
  const auto ledger = meter.ledger.entries();
  if (console.json()) {
    console.document({{"schema", 1},
                      {"name", chat.name},
                      {"fidelity", to_json(meter.fidelity)},
                      {"recall", to_json(meter.recall)},
                      {"ledger", to_json(ledger)}});
    return {};
  }
  const std::int64_t now_ms = SystemClock().wall_ms();
  console.data((ledger.empty() ? "Nothing of this chat was compressed.\n" : table_of(ledger)) +
               describe(meter.fidelity, now_ms) + "\n" + describe(meter.recall, now_ms) + "\n");
  return {};
}

Result<void> run(const ChatsOptions& options, Console& console) {
  const Paths paths = standard_paths(options.common.store);
  storage::StoreOptions open;
  open.data_dir = paths.data_dir;
  open.cache_dir = paths.cache_dir;
  const bool change = !options.remove.empty();
  open.mode = change ? storage::OpenMode::read_write : storage::OpenMode::read_only;
  Result<std::unique_ptr<storage::Store>> store = storage::Store::open(std::move(open));
  if (!store.ok()) {
    if (store.error().code != "NO_LIBRARY") return std::move(store).error();
    if (!options.show.empty() || !options.ledger.empty())
      return Error{ErrorKind::not_found, "CHAT_NOT_FOUND",
                   "No chats yet. `satchel chat` begins one."};
    console.json() ? console.document({{"schema", 1}, {"chats", Json::array()}})
                   : console.data("No chats yet. `satchel chat` begins one.\n");
    return {};
  }
  if (!options.show.empty()) return show(**store, options.show, console);
  if (!options.ledger.empty()) return show_ledger(**store, options.ledger, console);
  if (!change) return list(**store, console);
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, find(**store, options.remove));
  SATCHEL_TRY((*store)->library().remove_chat(chat.id));
  console.note("\"" + chat.name + "\" is removed; it is kept for 30 days.");
  return {};
}

}  // namespace

void add_chats(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ChatsOptions>();
  CLI::App* command = app.add_subcommand("chats", "The saved chats");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  command->add_option("--show", options->show, "Print a chat's messages")->type_name("NAME");
  command
      ->add_option("--ledger", options->ledger,
                   "Print every step that made a chat smaller, and what it cost")
      ->type_name("NAME");
  command->add_option("--remove", options->remove, "Remove a chat (kept for 30 days)")
      ->type_name("NAME");
  command->callback([=] {
    choose([=] {
      Console console(options->common.json, options->common.quiet);
      const Result<void> done = run(*options, console);
      return done.ok() ? int{kExitOk} : console.fail(done.error());
    });
  });
}

}  // namespace satchel::app
