// ChatListPanel: the left column: a new chat, a search field, the chats whose titles have what is
// looked for, the messages that do, an offer to undo a deletion, and the way to those deleted
// earlier.
#pragma once

#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QTimer>
#include <QWidget>

#include "ui/model/engine_types.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QListView;
class QMenu;
class QPushButton;

namespace satchel::ui {

class AppState;
class Banner;
class FoundList;

class ChatListDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const override;
};

// The chats of a folder whose titles have what is looked for; the open chat is in every folder.
class ChatFilterModel final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;
  void setFolder(const QString& folder);  // empty: all chats
  QString folder() const { return m_folder; }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QString m_folder;
};

class ChatListPanel : public QWidget {
  Q_OBJECT

 public:
  // state: not owned
  explicit ChatListPanel(AppState* state, QWidget* parent = nullptr);

  QSize minimumSizeHint() const override;

  void focusFilter();
  QListView* list() { return m_list; }
  QLineEdit* filter() { return m_filter; }
  QComboBox* folders() { return m_folders; }
  // What the menu of a chat has to put it elsewhere.
  void addFolderActions(QMenu& menu, ChatKey chat);
  void addTopAction(QMenu& menu, ChatKey chat);
  FoundList* found() { return m_found; }
  QPushButton* deletedButton() { return m_deleted; }

 Q_SIGNALS:
  void exportAsked(satchel::ui::ChatKey chat, const QString& title);

 private:
  ChatKey keyAt(const QModelIndex& index) const;
  void openAt(const QModelIndex& index);
  void openFound(const QModelIndex& index);
  void connectSearch();
  void refreshFound();
  void showMenu(const QPoint& point);
  void connectFolders();
  void refreshFolders();
  void askForFolder(ChatKey chat);
  void showDeleted();
  void askDeletedChats();
  void endAskingDeleted();
  void showDeletedChats(const DeletedList& deleted);
  bool eventFilter(QObject* watched, QEvent* event) override;

  AppState* m_state;
  ChatFilterModel m_filtered;
  QLineEdit* m_filter;
  QComboBox* m_folders;  // hidden while there are none
  QListView* m_list;
  QLabel* m_foundTitle;
  FoundList* m_found;
  QTimer m_searchRest;  // runs while the user writes
  Banner* m_undo;
  QPushButton* m_deleted;
  bool m_isDeletedAsked = false;  // its list has not come yet
};

}  // namespace satchel::ui
