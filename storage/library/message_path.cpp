#include "storage/library/message_path.h"

#include <algorithm>

namespace satchel::storage {
namespace {

// A flipped counter may claim any number of messages.
constexpr std::int64_t kUnnamedMax = 1000;

struct LinkedRow {
  std::int64_t id, seq;
  std::int64_t parent;  // 0: none, or not to be believed
  bool is_live;
};
using Rows = std::vector<LinkedRow>;

Result<Rows> rows_of(Connection& db, ChatId chat, const std::set<std::int64_t>& damaged) {
  SATCHEL_TRY_ASSIGN(
      Query query,
      db.prepare("SELECT id, seq, parent, live FROM message WHERE chat = ?1 ORDER BY seq"));
  return query.bind(1, chat.value).all([&](const Query& row) {
    const std::int64_t id = row.integer_at(0);
    return LinkedRow{id, row.integer_at(1), damaged.contains(id) ? 0 : row.integer_at(2),
                     row.integer_at(3) != 0};
  });
}

// Backwards: what a row follows is on the path, live or not, or is gone.
void follow(const Rows& rows, MessagePath& path) {
  for (std::size_t i = rows.size(); i-- > 0;) {
    const LinkedRow& row = rows[i];
    if (row.is_live) path.ids.insert(row.id);
    if (!path.ids.contains(row.id) || row.parent == 0) continue;
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_there = std::any_of(
        rows.begin(), end, [&](const LinkedRow& other) { return other.id == row.parent; });
    if (is_there)
      path.ids.insert(row.parent);
    else
      path.missing.insert(path.missing.begin(), {row.seq, row.parent});
  }
}

std::int64_t n_lacking(const MessagePath& path, const MessageCounts& counts) {
  const auto n_found = static_cast<std::int64_t>(path.ids.size() + path.missing.size());
  return std::clamp<std::int64_t>(counts.n_live, 0, n_found + kUnnamedMax) - n_found;
}

// What follows the end, where the chat has more messages than are live: the newest answer to it,
// and so on. Older ones were cut.
void add_followers(const Rows& rows, const MessageCounts& counts, MessagePath& path) {
  std::int64_t end = 0;
  for (const LinkedRow& row : rows)
    if (path.ids.contains(row.id)) end = row.id;
  for (std::int64_t n = n_lacking(path, counts); n > 0; --n) {
    const auto next = std::find_if(rows.rbegin(), rows.rend(), [&](const LinkedRow& row) {
      return row.parent == end && !path.ids.contains(row.id);
    });
    if (next == rows.rend()) return;
    path.ids.insert(end = next->id);
  }
}

// Rows of which only their numbers are left, as many as the chat still lacks.
void add_unnamed(const Rows& rows, const MessageCounts& counts, MessagePath& path) {
  auto row = rows.begin();
  std::int64_t n = n_lacking(path, counts);
  for (std::int64_t seq = 1; seq <= counts.last_seq && n > 0; ++seq) {
    while (row != rows.end() && row->seq < seq) ++row;
    const bool is_there = row != rows.end() && row->seq == seq;
    const bool is_named =
        std::any_of(path.missing.begin(), path.missing.end(),
                    [&](const MissingMessage& one) { return one.id > 0 && one.seq == seq + 1; });
    if (is_there || is_named) continue;
    path.missing.push_back({seq, -seq});
    --n;
  }
  std::stable_sort(path.missing.begin(), path.missing.end(),
                   [](const MissingMessage& a, const MissingMessage& b) { return a.seq < b.seq; });
}

}  // namespace

Result<MessagePath> find_path(Connection& db, ChatId chat, const MessageCounts& counts,
                              const std::set<std::int64_t>& damaged) {
  SATCHEL_TRY_ASSIGN(const Rows rows, rows_of(db, chat, damaged));
  MessagePath path;
  follow(rows, path);
  add_followers(rows, counts, path);
  add_unnamed(rows, counts, path);
  return path;
}

}  // namespace satchel::storage
