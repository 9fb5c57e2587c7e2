#include "storage/library/state.h"
#include "storage/library/use_days.h"

namespace satchel::storage {
namespace {

constexpr const char* kById =
    "SELECT id, name, title, model_fingerprint, model_path, recipe, budget_bytes, system, "
    "created_ms, used_ms, removed_ms, "
    "(SELECT count(*) FROM message m WHERE m.chat = chat.id AND m.live = 1), "
    "(SELECT coalesce(sum(length(tokens)), 0) / 4 FROM message m WHERE m.chat = chat.id AND m.live "
    "= 1), (SELECT coalesce(max(id), 0) FROM message m WHERE m.chat = chat.id AND m.live = 1), "
    "(SELECT value FROM setting WHERE key = 'chat.' || chat.id || '.folder'), "
    "(SELECT value FROM setting WHERE key = 'chat.' || chat.id || '.place'), "
    "(SELECT value FROM setting WHERE key = 'chat.' || chat.id || '.stopped') FROM chat ";

std::string select_chats(const char* rest) {
  return std::string(kById) + rest;
}

Chat chat_at(const Query& row) {
  Chat chat;
  chat.id = {row.integer_at(0)};
  chat.name = row.text_at(1);
  chat.title = row.text_at(2);
  chat.setup.model_fingerprint = row.text_at(3);
  chat.setup.model_path = row.text_at(4);
  chat.setup.recipe_json = row.text_at(5);
  chat.setup.budget_bytes = static_cast<std::uint64_t>(row.integer_at(6));
  if (!row.null_at(7)) chat.setup.system = row.text_at(7);
  chat.created_ms = row.integer_at(8);
  chat.used_ms = row.integer_at(9);
  if (!row.null_at(10)) chat.removed_ms = row.integer_at(10);
  chat.n_messages = static_cast<std::size_t>(row.integer_at(11));
  chat.n_tokens = static_cast<std::size_t>(row.integer_at(12));
  chat.last = {row.integer_at(13)};
  if (!row.null_at(14)) chat.folder = row.text_at(14);
  if (!row.null_at(15) && row.text_at(15) == runtime::kPlaceTop)
    chat.place = runtime::ListPlace::top;
  if (!row.null_at(16)) chat.stopped = {row.integer_at(16)};
  return chat;
}

// The kept chat of that name; 0: none.
Result<std::int64_t> id_of_name(Connection& connection, std::string_view name) {
  if (name.empty()) return std::int64_t{0};
  SATCHEL_TRY_ASSIGN(Query query, connection.prepare("SELECT id FROM chat WHERE name = ?1 AND "
                                                     "name <> '' AND removed_ms IS NULL"));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, name).step());
  return row ? query.integer_at(0) : std::int64_t{0};
}

// The name, or where it is taken the first that is not: "notes (2)", "notes (3)" …
Result<std::string> free_name(Connection& connection, const std::string& wanted) {
  std::string name = wanted;
  for (int n = 2;; ++n) {
    SATCHEL_TRY_ASSIGN(const std::int64_t taken, id_of_name(connection, name));
    if (taken == 0) return name;
    name = wanted + " (" + std::to_string(n) + ")";
  }
}

Error chat_exists() {
  return {ErrorKind::invalid, "CHAT_EXISTS",
          "A chat with that name already exists. Continue it, or choose another name."};
}

// Runs a statement about the chat whose id is its first parameter, then commits.
//   sql   UPDATE or DELETE … RETURNING id
//   bind  of the other parameters
template <class Bind>
Result<void> change_chat(Connection& db, Transaction& change, ChatId id, const char* sql,
                         const Bind& bind) {
  {
    SATCHEL_TRY_ASSIGN(Query update, db.prepare(sql));
    bind(update.bind(1, id.value));
    SATCHEL_TRY_ASSIGN(const bool found, update.step());
    if (!found) return chat_not_found(id);
    SATCHEL_TRY(update.run());
  }
  return change.commit();
}
}  // namespace

std::string removed_key(ChatId id) {
  return "chat." + std::to_string(id.value) + ".removed";
}

Error chat_not_found(ChatId id) {
  return {ErrorKind::not_found, "CHAT_NOT_FOUND",
          "Chat " + std::to_string(id.value) + " does not exist, or was deleted."};
}

Result<std::int64_t> next_seq(Connection& connection, ChatId id, std::int64_t now_ms) {
  SATCHEL_TRY_ASSIGN(
      Query update,
      connection.prepare(
          "UPDATE chat SET used_ms = ?2, used_seq = (SELECT max(used_seq) + 1 FROM "
          "chat), last_seq = max(last_seq, (SELECT coalesce(max(seq), 0) FROM message WHERE chat = "
          "?1)) + 1, n_live = n_live + 1 WHERE id = ?1 AND removed_ms IS NULL RETURNING "
          "last_seq"));
  update.bind(1, id.value).bind(2, now_ms);
  SATCHEL_TRY_ASSIGN(const bool found, update.step());
  if (!found) return chat_not_found(id);
  const std::int64_t seq = update.integer_at(0);
  SATCHEL_TRY(update.run());
  return seq;
}

Result<ChatId> insert_chat(Connection& db, const NewChat& chat, NameTaken taken,
                           std::int64_t now_ms) {
  SATCHEL_TRY_ASSIGN(const std::string name, free_name(db, chat.name));
  if (name != chat.name && taken == NameTaken::refuse) return chat_exists();
  SATCHEL_TRY_ASSIGN(
      Query insert,
      db.prepare("INSERT INTO chat(name, title, model_fingerprint, model_path, recipe, "
                 "budget_bytes, system, created_ms, used_ms, used_seq) VALUES(?1, ?2, ?3, ?4, ?5, "
                 "?6, ?7, ?8, ?8, (SELECT coalesce(max(used_seq), 0) + 1 FROM chat)) "
                 "RETURNING id"));
  const ChatSetup& setup = chat.setup;
  insert.bind(1, name).bind(2, chat.title).bind(3, setup.model_fingerprint);
  insert.bind(4, setup.model_path).bind(5, setup.recipe_json);
  insert.bind(6, static_cast<std::int64_t>(setup.budget_bytes));
  insert.bind(7, setup.system).bind(8, now_ms);
  SATCHEL_TRY_ASSIGN(const std::int64_t id, insert.integer());
  return ChatId{id};
}

Result<ChatId> Library::create_chat(const NewChat& chat, NameTaken taken) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY_ASSIGN(const ChatId id,
                     insert_chat(*db, chat, taken, state_->options.clock->wall_ms()));
  SATCHEL_TRY(change.commit());
  return id;
}

Result<Chat> Library::chat(ChatId id) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  SATCHEL_TRY_ASSIGN(Query query, db->prepare(select_chats("WHERE id = ?1").c_str()));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, id.value).step());
  if (!row) return chat_not_found(id);
  return chat_at(query);
}

Result<std::optional<Chat>> Library::find_chat(std::string_view name) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  SATCHEL_TRY_ASSIGN(const std::int64_t id, id_of_name(*db, name));
  if (id == 0) return std::optional<Chat>();
  SATCHEL_TRY_ASSIGN(Chat found, chat({id}));
  return std::optional<Chat>(std::move(found));
}

Result<std::vector<Chat>> Library::chats(ChatFilter filter) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  const std::string sql = select_chats(filter == ChatFilter::present
                                           ? "WHERE removed_ms IS NULL ORDER BY used_seq DESC"
                                           : "WHERE removed_ms IS NOT NULL ORDER BY used_seq DESC");
  SATCHEL_TRY_ASSIGN(Query query, db->prepare(sql.c_str()));
  return query.all(chat_at);
}

Result<void> Library::retitle_chat(ChatId id, std::string_view title) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY_ASSIGN(const std::int64_t holder, id_of_name(*db, title));
  const bool is_taken = holder != 0 && holder != id.value;
  return change_chat(*db, change, id,
                     "UPDATE chat SET title = ?2, name = iif(?3, name, ?2) WHERE id = ?1 AND "
                     "removed_ms IS NULL RETURNING id",
                     [&](Query& update) { update.bind(2, title).bind(3, std::int64_t{is_taken}); });
}

Result<void> Library::set_setup(ChatId id, const ChatSetup& setup) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  return change_chat(
      *db, change, id,
      "UPDATE chat SET model_fingerprint = ?2, model_path = ?3, recipe = ?4, budget_bytes = ?5, "
      "system = ?6 WHERE id = ?1 RETURNING id",
      [&](Query& update) {
        update.bind(2, setup.model_fingerprint).bind(3, setup.model_path);
        update.bind(4, setup.recipe_json).bind(5, static_cast<std::int64_t>(setup.budget_bytes));
        update.bind(6, setup.system);
      });
}

Result<void> Library::remove_chat(ChatId id) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY(begin_use_days(*db, removed_key(id)));
  return change_chat(
      *db, change, id,
      "UPDATE chat SET removed_ms = ?2 WHERE id = ?1 AND removed_ms IS NULL RETURNING id",
      [&](Query& update) { update.bind(2, state_->options.clock->wall_ms()); });
}

Result<void> Library::restore_chat(ChatId id) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY_ASSIGN(const Chat found, chat(id));
  if (!found.removed_ms.has_value()) return {};
  SATCHEL_TRY_ASSIGN(const std::string name, free_name(*db, found.name));
  SATCHEL_TRY_ASSIGN(Query kept, db->prepare("DELETE FROM setting WHERE key = ?1"));
  SATCHEL_TRY(kept.bind(1, removed_key(id)).run());
  return change_chat(*db, change, id,
                     "UPDATE chat SET removed_ms = NULL, name = ?2 WHERE id = ?1 RETURNING id",
                     [&](Query& update) { update.bind(2, name); });
}

}  // namespace satchel::storage
