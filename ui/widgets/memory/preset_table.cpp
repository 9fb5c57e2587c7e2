#include "ui/widgets/memory/preset_table.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "ui/widgets/theme.h"

namespace satchel::ui {

PresetTable::PresetTable(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::PointingHandCursor);
}

void PresetTable::setLines(const QList<PresetLine>& lines, int chosen) {
  const bool otherSize = lines.size() != m_lines.size();
  m_lines = lines;
  m_chosen = chosen;
  if (chosen < lines.size())
    setAccessibleName(tr("Preset %1, %2, %3")
                          .arg(lines[chosen].title, lines[chosen].tokens, lines[chosen].fidelity));
  if (otherSize) updateGeometry();
  update();
}

int PresetTable::rowHeight() const {
  return 2 * fontMetrics().height() + 16;
}

QSize PresetTable::sizeHint() const {
  return {200, std::max(1, int(m_lines.size())) * (rowHeight() + 2)};
}

void PresetTable::paintEvent(QPaintEvent*) {
  const Theme& theme = themeOf(palette());
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QFont small = scaledFont(font(), 0.9);
  const int line = fontMetrics().height();
  for (int i = 0; i < int(m_lines.size()); ++i) {
    const PresetLine& preset = m_lines[i];
    const bool isChosen = i == m_chosen;
    const QRectF box =
        QRectF(0, i * (rowHeight() + 2), width(), rowHeight()).adjusted(1, 1, -1, -1);
    painter.setPen(isChosen && hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
    painter.setBrush(isChosen ? QBrush(theme.accentSoft) : QBrush(Qt::NoBrush));
    painter.drawRoundedRect(box, 8, 8);
    painter.setPen(QPen(isChosen ? theme.accent : theme.muted, 1.5));
    painter.setBrush(Qt::NoBrush);
    const QPointF dot(box.left() + 15, box.top() + 7 + line / 2.0);
    painter.drawEllipse(dot, 5.5, 5.5);
    if (isChosen) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(theme.accent);
      painter.drawEllipse(dot, 3, 3);
    }
    const QRectF text = box.adjusted(30, 7, -10, -7);
    const QRectF first(text.left(), text.top(), text.width(), line);
    const QRectF second(text.left(), text.top() + line + 2, text.width(), line);
    painter.setFont(isChosen ? scaledFont(font(), 1, QFont::DemiBold) : font());
    painter.setPen(theme.text);
    painter.drawText(first, Qt::AlignLeft | Qt::AlignVCenter, preset.title);
    painter.setFont(small);
    painter.setPen(theme.muted);
    painter.drawText(first, Qt::AlignRight | Qt::AlignVCenter,
                     preset.bytes.isEmpty() ? QString() : preset.tokens);
    painter.drawText(
        second, Qt::AlignLeft | Qt::AlignVCenter,
        QFontMetricsF(small).elidedText(preset.fidelity, Qt::ElideRight, text.width()));
  }
}

void PresetTable::mousePressEvent(QMouseEvent* event) {
  const int index = int(event->position().y()) / (rowHeight() + 2);
  if (index >= 0 && index < m_lines.size()) Q_EMIT chosen(index);
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
