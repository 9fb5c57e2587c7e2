#include "ui/widgets/popup.h"

#include <QLabel>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/widgets/theme.h"

namespace satchel::ui {

Popup::Popup(const QString& title, const QString& note, QWidget* parent)
    : QFrame(parent, Qt::Popup), m_column(new QVBoxLayout(this)) {
  setObjectName(QStringLiteral("popup"));
  setAttribute(Qt::WA_DeleteOnClose);
  setAccessibleName(title);
  auto* head = new QLabel(title, this);
  head->setFont(scaledFont(font(), 1, QFont::DemiBold));
  auto* text = new QLabel(note, this);
  text->setWordWrap(true);
  text->setObjectName(QStringLiteral("muted"));
  text->setFont(scaledFont(font(), 0.92));
  m_column->setContentsMargins(kGap + 4, kGap + 4, kGap + 4, kGap + 4);
  m_column->setSpacing(kGapSmall);
  m_column->addWidget(head);
  m_column->addWidget(text);
  m_column->addSpacing(kGapSmall);
}

void Popup::showAt(const QPoint& point) {
  adjustSize();
  const QRect place = screen()->availableGeometry();
  const int above = point.y() - height() - kGap;
  const int top = above >= place.top() ? above : point.y() + kGap;
  move(std::clamp(point.x(), place.left(), std::max(place.left(), place.right() - width())), top);
  show();
}

}  // namespace satchel::ui
