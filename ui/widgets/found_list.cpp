#include "ui/widgets/found_list.h"

#include <QPainter>
#include <algorithm>

#include "ui/model/found_model.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr qsizetype kLettersBefore = 14;  // of a hit, so that it stands on the line

// Draws a piece and goes on behind it; false: there is no room for more.
bool drawPiece(QPainter& painter, QRectF& room, const QString& piece) {
  if (piece.isEmpty()) return true;
  const QFontMetricsF metrics(painter.font());
  const QString shown = metrics.elidedText(piece, Qt::ElideRight, room.width());
  painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, shown);
  room.setLeft(room.left() + metrics.horizontalAdvance(shown));
  return shown.size() == piece.size();
}

void drawPassage(QPainter& painter, const QRectF& rect, const FoundPassage& passage,
                 const QFont& font, const Theme& theme) {
  const qsizetype first = passage.hits.isEmpty() ? 0 : passage.hits.front().first;
  qsizetype at = std::max<qsizetype>(0, first - kLettersBefore);
  QRectF room = rect;
  const auto plain = [&](const QString& piece) {
    painter.setFont(font);
    painter.setPen(theme.muted);
    return drawPiece(painter, room, piece);
  };
  if (at > 0 && !plain(QStringLiteral("…"))) return;
  for (const auto& [from, to] : passage.hits) {
    if (!plain(passage.text.sliced(at, from - at))) return;
    painter.setFont(scaledFont(font, 1, QFont::DemiBold));
    painter.setPen(theme.accent);
    if (!drawPiece(painter, room, passage.text.sliced(from, to - from))) return;
    at = to;
  }
  plain(passage.text.sliced(at));
}

}  // namespace

FoundDelegate::FoundDelegate(const FoundModel* model, QObject* parent)
    : QStyledItemDelegate(parent), m_model(model) {}

void FoundDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  const Theme& theme = themeOf(option.palette);
  const FoundPassage& passage = m_model->passage(index.row());
  const bool isHovered = (option.state & QStyle::State_MouseOver) != 0;
  const bool hasFocus = (option.state & QStyle::State_HasFocus) != 0;
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(hasFocus ? QPen(theme.accent) : QPen(Qt::NoPen));
  painter->setBrush(isHovered ? QBrush(theme.surface) : QBrush(Qt::NoBrush));
  const QRectF box = QRectF(option.rect).adjusted(kGap, 1, -kGap, -1);
  painter->drawRoundedRect(box, 8, 8);
  const QRectF text = box.adjusted(12, 6, -12, -6);
  const QRectF title(text.left(), text.top(), text.width(), text.height() / 2);
  painter->setFont(option.font);
  painter->setPen(theme.text);
  painter->drawText(
      title, Qt::AlignLeft | Qt::AlignVCenter,
      option.fontMetrics.elidedText(passage.title, Qt::ElideRight, int(title.width())));
  drawPassage(*painter, title.translated(0, title.height()), passage, scaledFont(option.font, 0.92),
              theme);
  painter->restore();
}

QSize FoundDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {120, 2 * option.fontMetrics.height() + 16};
}

FoundList::FoundList(FoundModel* model, QWidget* parent) : QListView(parent) {
  setModel(model);
  setItemDelegate(new FoundDelegate(model, this));
  setFrameShape(QFrame::NoFrame);
  setMouseTracking(true);
  setUniformItemSizes(true);
  setEditTriggers(NoEditTriggers);
  setVerticalScrollMode(ScrollPerPixel);
  setAccessibleName(tr("Found in messages"));
  viewport()->setAutoFillBackground(false);
}

}  // namespace satchel::ui
