// `satchel chats`: what is saved.
#include <algorithm>
#include <map>
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/meter_text.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "kernels/base/size_text.h"
#include "kvcache/state/per_1000_tokens.h"
#include "runtime/fidelity/meter.h"

namespace satchel::app {
namespace {

struct ChatsOptions {
  Options common;
  std::string show, ledger, remove, restore, delete_now;
  bool lists_removed = false;
};

std::string_view name(runtime::Role role) {
  constexpr std::string_view kNames[] = {"system", "user", "assistant"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(runtime::Role::assistant) + 1);
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view name(runtime::MessageState state) {
  constexpr std::string_view kNames[] = {"complete", "streaming", "interrupted", "damaged"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(runtime::MessageState::damaged) + 1);
  return kNames[static_cast<std::size_t>(state)];
}

// What stands over a message: "[user]", "[user, notes.txt]", "[assistant, interrupted]".
std::string heading(const runtime::StoredMessage& message) {
  std::string text = "[" + std::string(name(message.role));
  if (!message.title.empty()) text += ", " + message.title;
  if (message.state != runtime::MessageState::complete)
    text += ", " + std::string(name(message.state));
  return text + "]\n";
}

// What the saved caches of a chat take, and of how many tokens they are.
struct OnDisk {
  std::uint64_t n_bytes = 0, n_tokens = 0;
};
std::map<std::int64_t, OnDisk> on_disk(storage::Store& store) {
  std::map<std::int64_t, OnDisk> all;
  if (store.kv() == nullptr) return all;
  const auto caches = store.kv()->list();
  if (!caches.ok()) return all;
  for (const storage::SavedCache& cache : *caches) {
    if (!cache.key.owner) continue;
    OnDisk& chat = all[*cache.key.owner];
    chat.n_bytes += cache.record_bytes;
    chat.n_tokens = std::max(chat.n_tokens, cache.n_tokens);
  }
  return all;
}

std::string cache_text(const OnDisk& saved) {
  const std::uint64_t per_1000 = kvcache::bytes_per_1000_tokens(saved.n_bytes, saved.n_tokens);
  return "  (cache " + size_text(saved.n_bytes) + ", " + size_text(per_1000) + " per 1,000 tokens)";
}

bool is_at_top(const storage::Chat& chat) {
  return chat.place == runtime::ListPlace::top && !chat.removed_ms;
}

Result<void> list(storage::Store& store, runtime::ChatFilter filter, Console& console) {
  SATCHEL_TRY_ASSIGN(auto chats, store.library().chats(filter));
  std::ranges::stable_partition(chats, is_at_top);
  const std::map<std::int64_t, OnDisk> saved = on_disk(store);
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
                    {"used_ms", chat.used_ms},
                    {"at_top", is_at_top(chat)}});
    text += date_text(chat.used_ms) + "  " + count_text(chat.n_messages) + " messages  " +
            count_text(chat.n_tokens) + " tokens  " + chat.shown_name();
    if (chat.removed_ms) {
      rows.back()["removed_ms"] = *chat.removed_ms;
      text += "  (id " + std::to_string(chat.id.value) + ")";
    }
    if (const auto its = saved.find(chat.id.value);
        its != saved.end() && its->second.n_tokens > 0) {
      rows.back()["cache_bytes"] = its->second.n_bytes;
      rows.back()["cache_tokens"] = its->second.n_tokens;
      text += cache_text(its->second);
    }
    if (is_at_top(chat)) text += "  (at the top)";
    text += "\n";
  }
  Json copies = Json::array();
  if (filter == runtime::ChatFilter::removed) {
    for (const storage::LibraryCopy& copy : store.copies()) {
      copies.push_back(
          {{"name", copy.name}, {"bytes", copy.bytes}, {"written_ms", copy.written_ms}});
      text += date_text(copy.written_ms) + "  copy of all chats before an update, " +
              size_text(copy.bytes) + "  " + copy.name + "\n";
    }
  }
  if (console.json()) {
    Json all = {{"schema", 1}, {"chats", rows}};
    if (filter == runtime::ChatFilter::removed) all["copies"] = copies;
    console.document(all);
  } else if (!text.empty()) {
    console.data(text);
  } else {
    console.data(filter == runtime::ChatFilter::removed
                     ? "No removed chats.\n"
                     : "No saved chats yet. Start one with `satchel chat`.\n");
  }
  return {};
}

Result<storage::Chat> find(storage::Store& store, const std::string& wanted) {
  SATCHEL_TRY_ASSIGN(std::optional<storage::Chat> chat, store.library().find_chat(wanted));
  if (chat) return std::move(*chat);
  return no_chat_named(wanted);
}

// By its name, else by its id: several removed chats may have one name.
Result<storage::Chat> find_removed(storage::Store& store, const std::string& wanted) {
  SATCHEL_TRY_ASSIGN(const auto chats, store.library().chats(runtime::ChatFilter::removed));
  std::vector<storage::Chat> named, numbered;
  for (const storage::Chat& chat : chats) {
    if (chat.name == wanted) named.push_back(chat);
    if (std::to_string(chat.id.value) == wanted) numbered.push_back(chat);
  }
  if (named.size() > 1)
    return Error{ErrorKind::invalid, "PARAM",
                 "Several removed chats are named \"" + wanted +
                     "\". Give the id instead; `satchel chats --removed` lists the ids."};
  if (!named.empty()) return named.front();
  if (!numbered.empty()) return numbered.front();
  return Error{ErrorKind::not_found, "CHAT_NOT_FOUND",
               "There is no removed chat \"" + wanted +
                   "\". Run `satchel chats --removed` to list the removed chats."};
}

Result<void> show(storage::Store& store, const std::string& wanted, Console& console) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, find(store, wanted));
  SATCHEL_TRY_ASSIGN(const auto messages, store.library().messages(chat.id));
  Json rows = Json::array();
  std::string text;
  for (const runtime::StoredMessage& message : messages) {
    const bool is_document = message.kind == runtime::MessageKind::document;
    rows.push_back({{"id", message.id.value},
                    {"role", name(message.role)},
                    {"kind", is_document ? "document" : "text"},
                    {"title", message.title},
                    {"state", name(message.state)},
                    {"text", message.text},
                    {"tokens", message.tokens.size()},
                    {"created_ms", message.created_ms}});
    const bool is_damaged = message.state == runtime::MessageState::damaged;
    text +=
        heading(message) +
        (is_damaged ? "(This message is damaged. A backup of the chat library may still have it.)"
                    : message.text) +
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
  console.data((ledger.empty() ? "Nothing in this chat has been compressed.\n" : table_of(ledger)) +
               describe(meter.fidelity, now_ms) + "\n" + describe(meter.recall, now_ms) + "\n");
  return {};
}

Result<void> remove_chat(storage::Store& store, const std::string& wanted, Console& console) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, find(store, wanted));
  SATCHEL_TRY(store.library().remove_chat(chat.id));
  console.note(
      "Removed \"" + chat.name +
      "\". It will be deleted for good after 30 days; until then, `satchel chats --restore` "
      "brings it back. `satchel chats --delete` deletes it at once.");
  return {};
}

Result<void> restore_chat(storage::Store& store, const std::string& wanted, Console& console) {
  SATCHEL_TRY_ASSIGN(const storage::Chat removed, find_removed(store, wanted));
  SATCHEL_TRY(store.library().restore_chat(removed.id));
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, store.library().chat(removed.id));
  console.note("Restored \"" + chat.name + "\".");
  return {};
}

bool has_read(storage::ChatId chat, const runtime::ShelvedDocument& document) {
  return std::ranges::any_of(document.caches, [&](const storage::SavedCache& cache) {
    return cache.key.owner == chat.value;
  });
}

// Only what was removed before: one wrong word must not cost a chat.
Result<void> delete_chat(storage::Store& store, const std::string& wanted, Console& console) {
  for (const storage::LibraryCopy& copy : store.copies()) {
    if (copy.name != wanted) continue;
    SATCHEL_TRY(store.delete_copy(wanted));
    console.note("Deleted the copy \"" + wanted + "\".");
    return {};
  }
  SATCHEL_TRY_ASSIGN(const auto present, store.library().find_chat(wanted));
  const Result<storage::Chat> removed = find_removed(store, wanted);
  if (!removed.ok() && present)
    return Error{ErrorKind::invalid, "PARAM",
                 "The chat \"" + wanted + "\" is not removed. Run `satchel chats --remove \"" +
                     wanted + "\"` first; --delete cannot be undone."};
  SATCHEL_TRY(removed);
  const auto shelf = store.shelf();  // for a note: the chat goes all the same
  SATCHEL_TRY(store.delete_now(removed->id));
  for (const runtime::ShelvedDocument& document :
       shelf.ok() ? *shelf : std::vector<runtime::ShelvedDocument>())
    if (document.is_kept && has_read(removed->id, document))
      console.note("Its document \"" + document.title +
                   "\" stays on the shelf, as you asked; `satchel documents --remove` deletes it.");
  console.note("Deleted \"" + removed->name +
               (store.has_orphans()
                    ? "\" for good. Its saved caches cannot be deleted now; they go "
                      "when Satchel can next open the cache folder."
                    : "\" and its saved caches for good."));
  for (const storage::LibraryCopy& copy : store.copies())
    console.note("The copy \"" + copy.name +
                 "\" may still have its messages. Satchel deletes it about 30 days after it was "
                 "made; `satchel chats --delete " +
                 copy.name + "` deletes it now.");
  return {};
}

Result<void> run(const ChatsOptions& options, Console& console) {
  const bool changes =
      !options.remove.empty() || !options.restore.empty() || !options.delete_now.empty();
  auto store = open_store(options.common,
                          changes ? storage::OpenMode::read_write : storage::OpenMode::read_only);
  if (!store.ok()) {
    if (!has_no_chats_yet(options.common, store.error())) return std::move(store).error();
    if (!options.show.empty() || !options.ledger.empty())
      return Error{ErrorKind::not_found, "CHAT_NOT_FOUND",
                   "No saved chats yet. Start one with `satchel chat`."};
    console.json() ? console.document({{"schema", 1}, {"chats", Json::array()}})
                   : console.data("No saved chats yet. Start one with `satchel chat`.\n");
    return {};
  }
  if (!options.show.empty()) return show(**store, options.show, console);
  if (!options.ledger.empty()) return show_ledger(**store, options.ledger, console);
  if (!options.remove.empty()) return remove_chat(**store, options.remove, console);
  if (!options.restore.empty()) return restore_chat(**store, options.restore, console);
  if (!options.delete_now.empty()) return delete_chat(**store, options.delete_now, console);
  return list(**store,
              options.lists_removed ? runtime::ChatFilter::removed : runtime::ChatFilter::present,
              console);
}

}  // namespace

void add_chats(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ChatsOptions>();
  CLI::App* command =
      app.add_subcommand("chats", "List, show, remove, restore or delete saved chats");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  CLI::Option* show =
      command->add_option("--show", options->show, "Print a chat's messages")->type_name("NAME");
  CLI::Option* ledger =
      command
          ->add_option("--ledger", options->ledger,
                       "Print a chat's compression history and what each step cost")
          ->type_name("NAME");
  CLI::Option* remove = command
                            ->add_option("--remove", options->remove,
                                         "Remove a chat (deleted for good after 30 days)")
                            ->type_name("NAME");
  command->add_flag("--removed", options->lists_removed,
                    "List the removed chats and their ids, and copies that still have their words");
  CLI::Option* restore =
      command->add_option("--restore", options->restore, "Bring a removed chat back")
          ->type_name("NAME|ID")
          ->excludes(show, ledger, remove);
  command
      ->add_option("--delete", options->delete_now,
                   "Delete a removed chat and its saved caches, or such a copy, at once, for good")
      ->type_name("NAME|ID")
      ->excludes(show, ledger, remove, restore);
  remove->excludes(show, ledger);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
