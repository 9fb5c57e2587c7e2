// ChatListPanel: the left column: a new chat, a search field, the chats whose titles have what is
// looked for, the messages that do, an offer to undo a deletion, and the way to those deleted
// earlier.
#pragma once

#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QTimer>
#include <QWidget>

#include "ui/model/engine_types.h"

class QLabel;
class QLineEdit;
class QListView;
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

class ChatListPanel : public QWidget {
  Q_OBJECT

 public:
  // state: not owned
  explicit ChatListPanel(AppState* state, QWidget* parent = nullptr);

  void focusFilter();
  QListView* list() { return m_list; }
  QLineEdit* filter() { return m_filter; }
  FoundList* found() { return m_found; }
  QPushButton* deletedButton() { return m_deleted; }

 private:
  ChatKey keyAt(const QModelIndex& index) const;
  void openAt(const QModelIndex& index);
  void openFound(const QModelIndex& index);
  void connectSearch();
  void refreshFound();
  void showMenu(const QPoint& point);
  void showDeleted();
  void askDeletedChats();
  void endAskingDeleted();
  void showDeletedChats(const DeletedList& deleted);
  bool eventFilter(QObject* watched, QEvent* event) override;

  AppState* m_state;
  QSortFilterProxyModel m_filtered;
  QLineEdit* m_filter;
  QListView* m_list;
  QLabel* m_foundTitle;
  FoundList* m_found;
  QTimer m_searchRest;  // runs while the user writes
  Banner* m_undo;
  QPushButton* m_deleted;
  bool m_isDeletedAsked = false;  // its list has not come yet
};

}  // namespace satchel::ui
