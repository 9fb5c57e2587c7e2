#include "ui/widgets/conversation/thought_block.h"

#include <QAbstractTextDocumentLayout>
#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <QTextCursor>
#include <QTextDocument>

#include "ui/widgets/conversation/document_style.h"

namespace satchel::ui {
namespace {

constexpr double kArrow = 18;   // room of the arrow before the line
constexpr double kIndent = 14;  // of the text behind its rule
constexpr double kBelow = 12;   // between the block and the answer

}  // namespace

ThoughtBlock::ThoughtBlock(const QFont& font) : m_font(font), m_small(scaledFont(font, 0.92)) {}

ThoughtBlock::~ThoughtBlock() = default;

void ThoughtBlock::setContent(const QString& text, const QString& note, bool isOpen) {
  m_note = note;
  m_isOpen = isOpen;
  if (!isOpen || (m_document && m_text == text)) return;
  if (m_document && text.startsWith(m_text)) {  // it streams: what stands keeps its lines
    QTextCursor cursor(m_document.get());
    cursor.movePosition(QTextCursor::End);
    cursor.insertText(text.sliced(m_text.size()));
  } else {
    m_document = std::make_unique<ClosedDocument>();
    m_document->setPlainText(text);
    preparePlain(*m_document, m_small);
  }
  m_text = text;
}

double ThoughtBlock::place(double left, double top, double width) {
  m_head = m_body = QRectF();
  if (isEmpty()) return top;
  const QFontMetricsF metrics(m_small);
  const double lineWidth = std::min(width, kArrow + metrics.horizontalAdvance(m_note) + 8);
  m_head = QRectF(left, top, lineWidth, metrics.height() + 6);
  if (!m_isOpen) return m_head.bottom() + kBelow;
  m_document->setTextWidth(width - kIndent);
  m_body =
      QRectF(left + kIndent, m_head.bottom() + 6, width - kIndent, m_document->size().height());
  return m_body.bottom() + kBelow;
}

void ThoughtBlock::draw(QPainter& painter, const QRectF& visible, const Theme& theme) const {
  if (isEmpty()) return;
  painter.save();
  const QPointF middle(m_head.left() + 6, m_head.center().y());
  QPainterPath arrow;
  if (m_isOpen) {
    arrow.moveTo(middle + QPointF(-4, -2));
    arrow.lineTo(middle + QPointF(0, 2.5));
    arrow.lineTo(middle + QPointF(4, -2));
  } else {
    arrow.moveTo(middle + QPointF(-2, -4));
    arrow.lineTo(middle + QPointF(2.5, 0));
    arrow.lineTo(middle + QPointF(-2, 4));
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme.muted, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPath(arrow);
  painter.setFont(m_small);
  painter.drawText(m_head.adjusted(kArrow, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, m_note);
  if (m_isOpen && m_body.intersects(visible)) {
    painter.setPen(QPen(theme.border, 2));
    const double rule = m_body.left() - kIndent + 6;
    painter.drawLine(QPointF(rule, m_body.top()), QPointF(rule, m_body.bottom()));
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette = paletteOf(theme);
    context.palette.setColor(QPalette::Text, theme.muted);
    context.clip = visible.translated(-m_body.topLeft());
    painter.translate(m_body.topLeft());
    painter.setClipRect(context.clip, Qt::IntersectClip);
    m_document->documentLayout()->draw(&painter, context);
  }
  painter.restore();
}

}  // namespace satchel::ui
