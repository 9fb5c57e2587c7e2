// A chat ends earlier than it did: what is cut stays in the file and is only not live any more.
#include <algorithm>

#include "storage/library/state.h"

namespace satchel::storage {
namespace {

Result<bool> has_message(Connection& db, const Cut& cut) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT 1 FROM message WHERE chat = ?1 AND id = ?2"));
  return query.bind(1, cut.chat).bind(2, cut.last).step();
}

// Where the row of the last message is gone: the nearest live one before it, or 0. Its place is
// known by its number, or by what follows it (MissingMessage); false: there was none.
Result<bool> skip_missing(Connection& db, Cut& cut) {
  SATCHEL_TRY_ASSIGN(
      Query place, db.prepare("SELECT min(m.seq) FROM message m WHERE m.chat = ?1 AND (m.parent = "
                              "?2 OR (?2 < 0 AND m.seq >= -?2)) AND NOT EXISTS (SELECT 1 FROM "
                              "message p WHERE p.id = ?2 OR (p.chat = ?1 AND p.seq = -?2)) HAVING "
                              "min(m.seq) IS NOT NULL"));
  SATCHEL_TRY_ASSIGN(const bool is_missing, place.bind(1, cut.chat).bind(2, cut.last).step());
  if (!is_missing) return false;
  const std::int64_t behind = place.integer_at(0);
  SATCHEL_TRY(place.run());
  SATCHEL_TRY_ASSIGN(Query before,
                     db.prepare("SELECT coalesce((SELECT id FROM message WHERE chat = ?1 AND seq < "
                                "?2 AND live = 1 ORDER BY seq DESC LIMIT 1), 0)"));
  SATCHEL_TRY_ASSIGN(cut.last, before.bind(1, cut.chat).bind(2, behind).integer());
  return true;
}

// cut: ends at a row that is there afterwards.
Result<void> check_cut(Connection& db, Cut& cut) {
  SATCHEL_TRY_ASSIGN(Query chat,
                     db.prepare("SELECT 1 FROM chat WHERE id = ?1 AND removed_ms IS NULL"));
  SATCHEL_TRY_ASSIGN(const bool found, chat.bind(1, cut.chat).step());
  if (!found) return chat_not_found({cut.chat});
  if (cut.last == 0) return {};
  SATCHEL_TRY_ASSIGN(const bool has, has_message(db, cut));
  if (has) return {};
  SATCHEL_TRY_ASSIGN(const bool was_there, skip_missing(db, cut));
  if (was_there) return {};
  return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND",
               "The chat has no message " + std::to_string(cut.last) + ". Nothing was changed."};
}

}  // namespace

Result<void> cut_to(Connection& db, const Cut& cut) {
  SATCHEL_TRY_ASSIGN(
      Query flags,
      // Past a row that is gone the path goes on with what was live before it.
      db.prepare("WITH RECURSIVE path(id) AS (SELECT ?2 UNION SELECT coalesce((SELECT p.id FROM "
                 "message p WHERE p.id = m.parent), (SELECT p.id FROM message p WHERE p.chat = "
                 "m.chat AND p.seq < m.seq AND p.live = 1 ORDER BY p.seq DESC LIMIT 1)) FROM "
                 "message m, path WHERE m.id = path.id AND m.chat = ?1 AND m.parent IS NOT NULL) "
                 "UPDATE message SET live = (id IN (SELECT id FROM path)) WHERE chat = ?1 AND live "
                 "<> (id IN (SELECT id FROM path))"));
  SATCHEL_TRY(flags.bind(1, cut.chat).bind(2, cut.last).run());
  SATCHEL_TRY_ASSIGN(Query count,
                     db.prepare("UPDATE chat SET n_live = (SELECT count(*) FROM message m WHERE "
                                "m.chat = ?1 AND m.live = 1) WHERE id = ?1"));
  return count.bind(1, cut.chat).run();
}

Result<Cut> Library::State::cut(Connection& writer, Cut& to) const {
  const bool is_answered =
      std::ranges::any_of(streams, [&](const auto& entry) { return entry.second.chat == to.chat; });
  if (is_answered)
    return Error{ErrorKind::invalid, "MESSAGE_STATE",
                 "This chat is still being answered. Nothing was changed. Stop the answer first."};
  SATCHEL_TRY(check_cut(writer, to));
  SATCHEL_TRY_ASSIGN(const std::int64_t before, last_message_of(writer, {to.chat}));
  SATCHEL_TRY(cut_to(writer, to));
  return Cut{.chat = to.chat, .last = before};
}

Result<void> Library::State::commit(Transaction& change, const Connection& writer,
                                    std::optional<Cut> undoes) {
  open_cut = undoes;
  const Result<void> committed = change.commit();
  if (committed.ok() || !writer.disk_failed()) open_cut.reset();
  return committed;
}

Result<void> Library::truncate(ChatId chat, MessageId last) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  Cut to{.chat = chat.value, .last = last.value};
  SATCHEL_TRY_ASSIGN(const Cut undoes, state_->cut(*db, to));
  return state_->commit(change, *db, undoes);
}

}  // namespace satchel::storage
