#include "ui/widgets/notice_column.h"

#include <QEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

// A notice is wider than a message: it is read at a glance, and hides less when it has fewer lines.
constexpr int kNoticeMax = 860;

}  // namespace

NoticeColumn::NoticeColumn(QWidget* below, QWidget* parent)
    : QWidget(parent), m_below(below), m_column(new QVBoxLayout(this)) {
  m_column->setContentsMargins(0, 0, 0, 0);
  m_column->setSpacing(kGapSmall);
  below->installEventFilter(this);
  hide();
}

void NoticeColumn::add(QWidget* notice) {
  m_column->addWidget(notice);
  notice->installEventFilter(this);
}

bool NoticeColumn::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::ShowToParent:
    case QEvent::HideToParent:
    case QEvent::Move:
    case QEvent::Resize:
    case QEvent::LayoutRequest:
      if (watched == m_below || event->type() != QEvent::Move) place();
      break;
    default:
      break;
  }
  return QWidget::eventFilter(watched, event);
}

void NoticeColumn::place() {
  bool hasSome = false;
  for (int i = 0; i < m_column->count(); ++i)
    hasSome = hasSome || !m_column->itemAt(i)->widget()->isHidden();
  setVisible(hasSome);
  if (!hasSome) return coverTop(0);
  const QRect over = m_below->geometry();
  const int width = std::min(over.width() - 2 * kGapHuge, kNoticeMax);
  m_column->invalidate();
  const int height = m_column->totalHeightForWidth(width);
  const int needed = height + 2 * kGapSmall;
  const bool isAtEnd = m_room && m_room() >= needed;
  const int y = isAtEnd ? over.y() + over.height() - height - kGapSmall : over.y() + kGapSmall;
  setGeometry(over.x() + (over.width() - width) / 2, y, width, height);
  m_column->activate();
  // Asked for its height, a layout takes itself for laid out: a text that is new would keep the
  // place of the one before.
  for (int i = 0; i < m_column->count(); ++i)
    if (QLayout* inside = m_column->itemAt(i)->widget()->layout()) {
      inside->invalidate();
      inside->activate();
    }
  raise();
  coverTop(isAtEnd ? 0 : needed);
}

void NoticeColumn::coverTop(int height) {
  if (std::exchange(m_topCovered, height) != height) Q_EMIT topCovered(height);
}

}  // namespace satchel::ui
