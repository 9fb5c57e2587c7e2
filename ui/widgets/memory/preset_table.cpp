#include "ui/widgets/memory/preset_table.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kRowPadding = 14;
constexpr int kBetween = 8;  // at least, from what is left to what is right

}  // namespace

PresetTable::PresetTable(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::PointingHandCursor);
}

void PresetTable::setLines(const QList<PresetLine>& lines, int chosen) {
  const QSize before = sizeHint();
  m_lines = lines;
  m_chosen = chosen;
  if (chosen < lines.size())
    setAccessibleName(tr("Preset %1, %2, %3")
                          .arg(lines[chosen].title, lines[chosen].tokens, lines[chosen].fidelity));
  if (sizeHint() != before) updateGeometry();
  update();
}

// A measured preset has a second line for its figure.
QRectF PresetTable::rowRect(int row) const {
  const int line = fontMetrics().height();
  double top = 0;
  for (int i = 0; i < row; ++i) top += line * (m_lines[i].isMeasured ? 2 : 1) + kRowPadding;
  return QRectF(0, top, width(), line * (m_lines[row].isMeasured ? 2 : 1) + kRowPadding);
}

QSize PresetTable::sizeHint() const {
  const double height = m_lines.isEmpty() ? 0 : rowRect(int(m_lines.size()) - 1).bottom();
  return {200, int(std::ceil(height))};
}

void PresetTable::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  for (int row = 0; row < int(m_lines.size()); ++row) drawRow(painter, row);
}

void PresetTable::drawRow(QPainter& painter, int row) const {
  const Theme& theme = themeOf(palette());
  const PresetLine& preset = m_lines[row];
  const bool isChosen = row == m_chosen;
  const int line = fontMetrics().height();
  const QRectF box = rowRect(row).adjusted(1, 1, -1, -1);
  painter.setPen(isChosen && hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
  painter.setBrush(isChosen ? QBrush(theme.accentSoft) : QBrush(Qt::NoBrush));
  painter.drawRoundedRect(box, 8, 8);
  painter.setPen(QPen(isChosen ? theme.accent : theme.muted, 1.5));
  painter.setBrush(Qt::NoBrush);
  const double padding = kRowPadding / 2.0 - 1;
  const QPointF dot(box.left() + 15, box.top() + padding + line / 2.0);
  painter.drawEllipse(dot, 5.5, 5.5);
  if (isChosen) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.accent);
    painter.drawEllipse(dot, 3, 3);
  }
  const QRectF text = box.adjusted(30, padding, -10, -padding);
  const QRectF first(text.left(), text.top(), text.width(), line);
  const QFont name = isChosen ? scaledFont(font(), 1, QFont::DemiBold) : font();
  painter.setFont(name);
  painter.setPen(theme.text);
  painter.drawText(first, Qt::AlignLeft | Qt::AlignVCenter, preset.title);
  const QFont small = scaledFont(font(), 0.9);
  painter.setFont(small);
  painter.setPen(theme.muted);
  const QString tokens = preset.bytes.isEmpty() ? QString() : preset.tokens;
  painter.drawText(first, Qt::AlignRight | Qt::AlignVCenter, tokens);
  if (preset.isMeasured) {
    const QString figure =
        QFontMetricsF(small).elidedText(preset.fidelity, Qt::ElideRight, text.width());
    painter.drawText(first.translated(0, line), Qt::AlignLeft | Qt::AlignVCenter, figure);
  } else {
    const double after = QFontMetricsF(name).horizontalAdvance(preset.title);
    const double before = QFontMetricsF(small).horizontalAdvance(tokens) + kBetween;
    const QRectF middle = first.adjusted(after, 0, -before, 0);
    painter.drawText(middle, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetricsF(small).elidedText(QStringLiteral(" · ") + preset.fidelity,
                                                     Qt::ElideRight, middle.width()));
  }
}

void PresetTable::mousePressEvent(QMouseEvent* event) {
  for (int row = 0; row < int(m_lines.size()); ++row)
    if (rowRect(row).contains(event->position())) Q_EMIT chosen(row);
}

void PresetTable::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Up ? -1 : event->key() == Qt::Key_Down ? 1 : 0;
  if (step == 0) {
    QWidget::keyPressEvent(event);
    return;
  }
  const int index = std::clamp(m_chosen + step, 0, int(m_lines.size()) - 1);
  if (index != m_chosen) Q_EMIT chosen(index);
}

}  // namespace satchel::ui
