#include "ui/widgets/conversation/message_delegate.h"

#include <QAbstractItemView>
#include <QPainter>

#include "ui/model/chat_finder.h"
#include "ui/model/conversation_model.h"

namespace satchel::ui {

MessageDelegate::MessageDelegate(LayoutCache* layouts, QObject* parent)
    : QStyledItemDelegate(parent), m_layouts(layouts) {}

void MessageDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const {
  const auto [from, to] = selected(index);
  MessageLayout& layout = m_layouts->layout(index);
  const auto& model = static_cast<const ConversationModel&>(*index.model());
  layout.setHeld(heldLook, model.stretches(index.row(), heldLook));
  layout.setFind(lookOf(index.row()));
  painter->save();
  painter->translate(option.rect.topLeft());
  // A whole repaint has no clip of its own, and most of a long message is out of sight.
  QRectF clip(QPointF(0, 0), option.rect.size());
  if (const auto* view = qobject_cast<const QAbstractItemView*>(option.widget))
    clip &= QRectF(view->viewport()->rect()).translated(-option.rect.topLeft());
  if (painter->hasClipping()) clip &= painter->clipBoundingRect();
  const bool isLast = index.row() + 2 >= index.model()->rowCount();  // a question and its answer
  layout.draw(*painter, clip, from, to, copyHovered == index, isLast || hovered == index);
  painter->restore();
}

FindLook MessageDelegate::lookOf(int row) const {
  if (finder == nullptr || !finder->isOn()) return {};
  return {finder->pattern(), finder->currentIn(row)};
}

QSize MessageDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const {
  // The view is as wide as it is; only the height differs from row to row.
  return {1, m_layouts->height(index)};
}

std::pair<TextPlace, TextPlace> MessageDelegate::selected(const QModelIndex& index) const {
  if (selection.isEmpty()) return {};
  auto first = std::pair(selection.anchorRow.row(), selection.anchor);
  auto last = std::pair(selection.focusRow.row(), selection.focus);
  if (last < first) std::swap(first, last);
  const int row = index.row();
  if (row < first.first || row > last.first) return {};
  const TextPlace whole = m_layouts->layout(index).end();
  return {row == first.first ? first.second : TextPlace(), row == last.first ? last.second : whole};
}

}  // namespace satchel::ui
