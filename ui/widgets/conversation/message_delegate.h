// MessageDelegate: draws a row from its layout; knows what of it is selected.
#pragma once

#include <QPersistentModelIndex>
#include <QStyledItemDelegate>

#include "ui/widgets/conversation/layout_cache.h"

namespace satchel::ui {

class ChatFinder;

// What the user marked, across messages. Begins where the mouse was pressed.
struct TextSelection {
  QPersistentModelIndex anchorRow, focusRow;
  TextPlace anchor, focus;
  bool isEmpty() const {
    return !anchorRow.isValid() || !focusRow.isValid() ||
           (anchorRow == focusRow && anchor == focus);
  }
};

class MessageDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  explicit MessageDelegate(LayoutCache* layouts, QObject* parent = nullptr);

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

  // What of a row is selected; equal places: nothing.
  std::pair<TextPlace, TextPlace> selected(const QModelIndex& index) const;

  FindLook lookOf(int row) const;

  TextSelection selection;
  QPersistentModelIndex copyHovered;  // the row whose Copy is under the mouse
  QPersistentModelIndex hovered;      // the row under the mouse
  HeldLook heldLook = HeldLook::Off;
  const ChatFinder* finder = nullptr;  // not owned; nullptr: nothing is looked for

 private:
  LayoutCache* m_layouts;
};

}  // namespace satchel::ui
