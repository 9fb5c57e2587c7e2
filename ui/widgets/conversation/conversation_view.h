// ConversationView: the messages. Lays out only what is on the screen; rows above and below have
// estimated heights until they are seen.
//   invariants  1 while the user stands at the end, the end stays in view as an answer grows
//               2 elsewhere, what is being read does not move when heights become known
//               3 nothing moves for what is said over the top: one can scroll further up (setHead)
//   selection   across messages, with the mouse; Ctrl+C copies
//   menu        of a message, by the keyboard of the one in the middle, or where text is selected;
//               actions() of the view come last
#pragma once

#include <QListView>
#include <functional>

#include "ui/widgets/conversation/message_delegate.h"

class QMenu;

namespace satchel::ui {

class ChatFinder;
class ConversationModel;

class ConversationView : public QListView {
  Q_OBJECT

 public:
  explicit ConversationView(QWidget* parent = nullptr);

  void setConversation(ConversationModel* model);
  ConversationModel* conversation() const { return m_model; }
  QString selectedText() const;
  void copySelection();
  // Scrolls there, once what was just loaded is laid out.
  void showRow(int row);
  // What the finder finds is lit, and its current place shown whenever it is another.
  //   finder  not owned
  void setFinder(ChatFinder* finder);
  int firstVisibleRow() const;  // -1: there is none
  // So many pixels of the top are covered: before the first message there is so much to scroll to.
  void setHead(int height);
  int roomBelow() const;  // pixels that a chat shorter than the view leaves blank at its end
  // What is shown of how the words are held, and by a tip of those under the mouse.
  void setHeldLook(HeldLook look);
  void toggleLastThoughts();
  void askLastParts();
  void copyLastAnswer();
  // What the menu of a row has besides copying. `canMark`: whether there is something to mark.
  void setCanMark(std::function<bool(int row)> canMark) { m_canMark = std::move(canMark); }
  void addMessageActions(QMenu& menu, int row);
  LayoutCache& layouts() { return m_layouts; }

 Q_SIGNALS:
  void roomChanged();  // below
  // The user agreed to open the address, having seen it.
  void linkOpened(const QUrl& address);
  // Which parts of the older chat the answer saw is to be shown, here on the screen. A row of which
  // that is not known: what the last answer saw.
  void partsAsked(int row, const QPoint& global);
  // The row is to be said otherwise, or switched to an older (-1) or newer (1) version.
  void replaceAsked(int row);
  void versionAsked(int row, int step);
  // Forgotten: the user agreed, having read what is lost.
  void markAsked(int row, satchel::ui::MessageMark mark);
  // Something is to be done about what the memory limit took.
  void packedAsked(satchel::ui::PackedAction action, const QPoint& global);
  // The passage that a quote of the answer repeats is to be shown.
  void quoteAsked(int row, int quote);

 protected:
  void doItemsLayout() override;
  void updateGeometries() override;
  void dataChanged(const QModelIndex& topLeft, const QModelIndex& bottomRight,
                   const QList<int>& roles) override;
  void rowsInserted(const QModelIndex& parent, int start, int end) override;
  void reset() override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Found {
    QModelIndex row;
    MessageHit hit;
  };
  Found find(const QPoint& point);
  // The row at or nearest below a height of the viewport.
  QModelIndex rowNear(int y) const;
  bool measureVisible();
  void settle();
  void refreshView();
  void showBar();
  void announce(int row);
  bool isAtEnd() const;
  bool isUsers(int row) const;
  void setHovered(const QModelIndex& row, bool isOnCopy);
  Found foundBy(const QContextMenuEvent& event);
  void showFound();
  void addCopyActions(QMenu& menu, const Found& found);
  void addVersionActions(QMenu& menu, int row);
  void addMarkActions(QMenu& menu, int row);
  void addPackedActions(QMenu& menu, int row);
  void askToForget(const QPersistentModelIndex& row);
  QString tipOf(const Found& found);
  void askToOpen(const QString& address, const QPoint& global);
  void activate(const Found& found, const QPoint& global);
  void toggleThoughts(int row);

  LayoutCache m_layouts;
  MessageDelegate* m_delegate;
  ConversationModel* m_model = nullptr;
  std::function<bool(int)> m_canMark;
  bool m_followsEnd = true;
  bool m_isSettling = false;
  int m_head = 0;
  int m_roomTold = 0;
  bool m_isSelecting = false;
  QPoint m_pressed;
};

}  // namespace satchel::ui
