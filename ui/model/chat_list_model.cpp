#include "ui/model/chat_list_model.h"

#include <algorithm>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

bool isBefore(const ChatEntry& left, const ChatEntry& right) {
  if (left.isAtTop != right.isAtTop) return left.isAtTop;
  return left.changed != right.changed ? left.changed > right.changed : left.id > right.id;
}

}  // namespace

int ChatListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : int(m_rows.size());
}

QVariant ChatListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const ChatEntry& chat = m_rows[index.row()];
  switch (role) {
    case TitleRole:
    case Qt::EditRole:
      return chat.title;
    case Qt::ToolTipRole:
      return tipText(chat.title);
    case Qt::AccessibleTextRole:
      return chat.isAtTop ? tr("%1, kept at the top").arg(chat.title) : chat.title;
    case KeyRole:
      return chat.id;
    case ChangedRole:
      return chat.changed;
    case FolderRole:
      return chat.folder;
    case AtTopRole:
      return chat.isAtTop;
    case CurrentRole:
      return chat.id == m_current;
    default:
      return {};
  }
}

bool ChatListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid) || role != Qt::EditRole) return false;
  const QString title = value.toString().simplified();
  if (title.isEmpty() || title == m_rows[index.row()].title) return false;
  Q_EMIT renameAsked(m_rows[index.row()].id, title);
  return true;
}

Qt::ItemFlags ChatListModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags base = QAbstractListModel::flags(index);
  return index.isValid() ? base | Qt::ItemIsEditable : base;
}

void ChatListModel::load(QList<ChatEntry> chats) {
  beginResetModel();
  m_rows = std::move(chats);
  std::sort(m_rows.begin(), m_rows.end(), isBefore);
  endResetModel();
}

void ChatListModel::put(const ChatEntry& chat) {
  const auto to = int(std::ranges::count_if(m_rows, [&chat](const ChatEntry& other) {
    return other.id != chat.id && isBefore(other, chat);
  }));
  const int from = rowOf(chat.id);
  if (from < 0) {
    beginInsertRows({}, to, to);
    m_rows.insert(to, chat);
    endInsertRows();
    return;
  }
  if (from != to) {  // moved, so that a view stays at the chat
    beginMoveRows({}, from, from, {}, to > from ? to + 1 : to);
    m_rows.move(from, to);
    endMoveRows();
  }
  m_rows[to] = chat;
  Q_EMIT dataChanged(index(to), index(to));
}

void ChatListModel::remove(ChatKey chat) {
  const int row = rowOf(chat);
  if (row < 0) return;
  beginRemoveRows({}, row, row);
  m_rows.removeAt(row);
  endRemoveRows();
}

void ChatListModel::setCurrent(ChatKey chat) {
  if (m_current == chat) return;
  const int before = rowOf(m_current);
  m_current = chat;
  for (const int row : {before, rowOf(chat)})
    if (row >= 0) Q_EMIT dataChanged(index(row), index(row), {CurrentRole});
}

QStringList ChatListModel::folders() const {
  QStringList folders;
  for (const ChatEntry& chat : m_rows)
    if (!chat.folder.isEmpty()) folders.append(chat.folder);
  folders.removeDuplicates();
  folders.sort(Qt::CaseInsensitive);
  return folders;
}

QString ChatListModel::folderOf(ChatKey chat) const {
  const int row = rowOf(chat);
  return row < 0 ? QString() : m_rows[row].folder;
}

bool ChatListModel::isAtTop(ChatKey chat) const {
  const int row = rowOf(chat);
  return row >= 0 && m_rows[row].isAtTop;
}

int ChatListModel::rowOf(ChatKey chat) const {
  const auto found = std::find_if(m_rows.begin(), m_rows.end(),
                                  [chat](const ChatEntry& entry) { return entry.id == chat; });
  return found == m_rows.end() ? -1 : int(found - m_rows.begin());
}

}  // namespace satchel::ui
