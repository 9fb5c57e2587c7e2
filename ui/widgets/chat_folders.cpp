// Where the list has a chat: in a folder, one of which is chosen above it, and at its top.
#include <QComboBox>
#include <QInputDialog>
#include <QMenu>

#include "ui/model/app_state.h"
#include "ui/widgets/chat_list_panel.h"

namespace satchel::ui {

void ChatFilterModel::setFolder(const QString& folder) {
  m_folder = folder;
  invalidateFilter();
}

bool ChatFilterModel::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const QModelIndex index = sourceModel()->index(row, 0, parent);
  const bool isHere = m_folder.isEmpty() || index.data(ChatListModel::CurrentRole).toBool() ||
                      index.data(ChatListModel::FolderRole).toString() == m_folder;
  return isHere && QSortFilterProxyModel::filterAcceptsRow(row, parent);
}

void ChatListPanel::connectFolders() {
  m_folders->setAccessibleName(tr("Folder"));
  ChatListModel* chats = m_state->chats();
  for (const auto changed : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
    connect(chats, changed, this, &ChatListPanel::refreshFolders);
  connect(chats, &QAbstractItemModel::dataChanged, this, &ChatListPanel::refreshFolders);
  connect(chats, &QAbstractItemModel::modelReset, this, &ChatListPanel::refreshFolders);
  connect(m_folders, &QComboBox::activated, this,
          [this](int at) { m_filtered.setFolder(m_folders->itemData(at).toString()); });
  refreshFolders();
}

// A folder that lost its last chat is gone, and all chats are shown.
void ChatListPanel::refreshFolders() {
  const QStringList folders = m_state->chats()->folders();
  QStringList listed;
  for (int i = 1; i < m_folders->count(); ++i) listed.append(m_folders->itemText(i));
  if (listed == folders && m_folders->count() > 0) return;  // it may be open just now
  m_folders->clear();
  m_folders->addItem(tr("All chats"), QString());
  for (const QString& folder : folders) m_folders->addItem(folder, folder);
  m_folders->setVisible(!folders.isEmpty());
  if (!m_filtered.folder().isEmpty() && !folders.contains(m_filtered.folder()))
    m_filtered.setFolder({});
  m_folders->setCurrentIndex(1 + int(folders.indexOf(m_filtered.folder())));
}

void ChatListPanel::addFolderActions(QMenu& menu, ChatKey chat) {
  const QString now = m_state->chats()->folderOf(chat);
  const auto add = [&](const QString& name, const QString& folder) {
    QAction* action = menu.addAction(QString(name).replace(u'&', QStringLiteral("&&")), this,
                                     [this, chat, folder] { m_state->setFolder(chat, folder); });
    action->setCheckable(true);
    action->setChecked(folder == now);
  };
  add(tr("None"), {});
  for (const QString& folder : m_state->chats()->folders()) add(folder, folder);
  menu.addSeparator();
  menu.addAction(tr("New folder…"), this, [this, chat] { askForFolder(chat); });
}

void ChatListPanel::addTopAction(QMenu& menu, ChatKey chat) {
  const bool isAtTop = m_state->chats()->isAtTop(chat);
  menu.addAction(isAtTop ? tr("Don't keep at top") : tr("Keep at top"), this,
                 [this, chat, isAtTop] { m_state->setAtTop(chat, !isAtTop); });
}

void ChatListPanel::askForFolder(ChatKey chat) {
  auto* dialog = new QInputDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("New folder"));
  dialog->setLabelText(tr("Name of the folder:"));
  connect(dialog, &QInputDialog::textValueSelected, this, [this, chat](const QString& name) {
    if (!name.trimmed().isEmpty()) m_state->setFolder(chat, name);
  });
  dialog->open();
}

}  // namespace satchel::ui
