#include "ui/widgets/conversation/packed_card.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <cmath>

namespace satchel::ui {
namespace {

constexpr double kCardTop = 12, kCardPadX = 16, kCardPadY = 12, kLineGap = 4, kButtonGap = 8;
constexpr double kButtonPadX = 12, kButtonPadY = 5;
constexpr double kStripe = 3;

class CardText {
  Q_DECLARE_TR_FUNCTIONS(PackedCard)
};

QRectF placeText(const QFont& font, const QString& text, double left, double top, double width) {
  const QFontMetricsF metrics(font);
  const QRectF room(left, top, width, 10000);
  return {left, top, width, std::ceil(metrics.boundingRect(room, Qt::TextWordWrap, text).height())};
}

}  // namespace

QString packedActionText(PackedAction action) {
  switch (action) {
    case PackedAction::Pin:
      return CardText::tr("Pin passages…");
    case PackedAction::ReadExactly:
      return CardText::tr("Read exactly…");
    case PackedAction::RaiseLimit:
      return CardText::tr("Raise the limit…");
  }
  return {};
}

PackedCard::PackedCard(const QFont& font)
    : m_title(scaledFont(font, 1, QFont::DemiBold)),
      m_font(font),
      m_small(scaledFont(font, 0.92)) {}

// The buttons stand in a row, and below one another where that is too long.
double PackedCard::place(double left, double top, double width) {
  m_buttons = {};
  m_card = {};
  if (isEmpty()) return top;
  const double inside = width - 2 * kCardPadX;
  m_head = placeText(m_title, m_note.title, left + kCardPadX, top + kCardTop + kCardPadY, inside);
  m_text = placeText(m_font, m_note.text, m_head.left(), m_head.bottom() + kLineGap, inside);
  m_cost = placeText(m_small, m_note.cost, m_head.left(), m_text.bottom() + kLineGap, inside);
  const QFontMetricsF metrics(m_small);
  const double height = std::ceil(metrics.height()) + 2 * kButtonPadY;
  double x = m_head.left(), y = m_cost.bottom() + kCardPadY - 2;
  for (std::size_t i = 0; i < kPackedActions.size(); ++i) {
    const double button =
        std::ceil(metrics.horizontalAdvance(packedActionText(kPackedActions[i]))) + 2 * kButtonPadX;
    if (x > m_head.left() && x + button > m_head.right()) {
      x = m_head.left();
      y += height + kButtonGap;
    }
    m_buttons[i] = QRectF(x, y, button, height);
    x += button + kButtonGap;
  }
  m_card =
      QRectF(left, top + kCardTop, width, m_buttons.back().bottom() + kCardPadY - top - kCardTop);
  return m_card.bottom();
}

void PackedCard::draw(QPainter& painter, const Theme& theme) const {
  if (m_card.isNull()) return;
  painter.save();
  painter.setPen(QPen(theme.border, 1));
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(m_card.adjusted(0.5, 0.5, -0.5, -0.5), kRadius, kRadius);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.heat);
  painter.drawRoundedRect(
      QRectF(m_card.left() + 6, m_head.top() + 2, kStripe, m_cost.bottom() - m_head.top() - 4),
      kStripe / 2, kStripe / 2);
  const auto write = [&painter](const QFont& font, const QColor& color, const QRectF& place,
                                const QString& text) {
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(place, Qt::TextWordWrap, text);
  };
  write(m_title, theme.text, m_head, m_note.title);
  write(m_font, theme.text, m_text, m_note.text);
  write(m_small, theme.muted, m_cost, m_note.cost);
  painter.setFont(m_small);
  for (std::size_t i = 0; i < m_buttons.size(); ++i) {
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(theme.base);
    painter.drawRoundedRect(m_buttons[i].adjusted(0.5, 0.5, -0.5, -0.5), 8, 8);
    painter.setPen(theme.text);
    painter.drawText(m_buttons[i], Qt::AlignCenter, packedActionText(kPackedActions[i]));
  }
  painter.restore();
}

int PackedCard::hit(const QPointF& point) const {
  for (std::size_t i = 0; i < m_buttons.size(); ++i)
    if (m_buttons[i].contains(point)) return int(i);
  return -1;
}

// Two lines of text.
double PackedCard::estimatedHeight(const QFont& font) {
  const double line = QFontMetricsF(font).height();
  return kCardTop + 5 * line + 2 * kLineGap + 3 * kCardPadY + 2 * kButtonPadY;
}

}  // namespace satchel::ui
