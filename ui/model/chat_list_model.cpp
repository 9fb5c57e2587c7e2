#include "ui/model/chat_list_model.h"

#include <algorithm>

#include "ui/model/format.h"

namespace satchel::ui {
namespace {

bool isNewer(const ChatEntry& left, const ChatEntry& right) {
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
    case KeyRole:
      return chat.id;
    case ChangedRole:
      return chat.changed;
    case FolderRole:
      return chat.folder;
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
  std::sort(m_rows.begin(), m_rows.end(), isNewer);
  endResetModel();
}

void ChatListModel::put(const ChatEntry& chat) {
  if (const int row = rowOf(chat.id); row >= 0) {
    const bool stays = (row == 0 || isNewer(m_rows[row - 1], chat)) &&
                       (row + 1 == rowCount() || isNewer(chat, m_rows[row + 1]));
    if (stays) {
      m_rows[row] = chat;
      Q_EMIT dataChanged(index(row), index(row));
      return;
    }
    remove(chat.id);
  }
  const auto place = std::lower_bound(m_rows.begin(), m_rows.end(), chat, isNewer);
  const int row = int(place - m_rows.begin());
  beginInsertRows({}, row, row);
  m_rows.insert(row, chat);
  endInsertRows();
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

int ChatListModel::rowOf(ChatKey chat) const {
  const auto found = std::find_if(m_rows.begin(), m_rows.end(),
                                  [chat](const ChatEntry& entry) { return entry.id == chat; });
  return found == m_rows.end() ? -1 : int(found - m_rows.begin());
}

}  // namespace satchel::ui
