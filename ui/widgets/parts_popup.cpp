#include "ui/widgets/parts_popup.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kPopupWidth = 460;
constexpr int kPartRowsMax = 8;  // more are scrolled to

}  // namespace

PartsPopup::PartsPopup(const runtime::OlderParts& parts, const QList<int>& seen, bool canAsk,
                       QWidget* parent)
    : QFrame(parent, Qt::Popup),
      m_list(new QListWidget(this)),
      m_again(new QPushButton(tr("Ask again with these"), this)),
      m_next(new QPushButton(tr("Use for the next question"), this)),
      m_canAsk(canAsk) {
  setObjectName(QStringLiteral("popup"));
  setAttribute(Qt::WA_DeleteOnClose);
  setFixedWidth(kPopupWidth);
  setAccessibleName(tr("Parts of the older chat"));
  auto* title = new QLabel(tr("Parts of the older chat"), this);
  title->setFont(scaledFont(font(), 1, QFont::DemiBold));
  auto* note = new QLabel(tr("Ticked: what the answer saw."), this);
  note->setObjectName(QStringLiteral("muted"));
  note->setFont(scaledFont(font(), 0.92));
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setSelectionMode(QAbstractItemView::NoSelection);
  m_list->setSpacing(2);
  m_list->setTextElideMode(Qt::ElideRight);
  m_list->setAccessibleName(title->text());
  for (std::size_t i = 0; i < parts.parts.size(); ++i) {
    const QString beginning = textOf(parts.parts[i].beginning);
    auto* item = new QListWidgetItem(QStringLiteral("%1   %2").arg(i + 1).arg(beginning), m_list);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsUserCheckable | Qt::ItemIsSelectable);
    item->setCheckState(seen.contains(int(i)) ? Qt::Checked : Qt::Unchecked);
    item->setToolTip(tr("%1 tokens").arg(formatCount(qint64(parts.parts[i].n_tokens))));
  }
  const int row = m_list->count() > 0 ? m_list->sizeHintForRow(0) + 2 * m_list->spacing() : 0;
  m_list->setFixedHeight(row * std::clamp(m_list->count(), 1, kPartRowsMax) + 2);
  if (!seen.isEmpty() && seen.front() < m_list->count())
    m_list->scrollToItem(m_list->item(seen.front()));
  for (QPushButton* button : {m_again, m_next}) button->setCursor(Qt::PointingHandCursor);
  m_again->setObjectName(QStringLiteral("primary"));
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addStretch();
  buttons->addWidget(m_next);
  buttons->addWidget(m_again);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap + 4, kGap + 4, kGap + 4, kGap + 4);
  column->setSpacing(kGapSmall);
  column->addWidget(title);
  column->addWidget(note);
  column->addSpacing(kGapSmall);
  column->addWidget(m_list);
  column->addSpacing(kGap);
  column->addLayout(buttons);
  connect(m_list, &QListWidget::itemPressed, this, [this] { m_toggled = nullptr; });
  connect(m_list, &QListWidget::itemChanged, this, [this](const QListWidgetItem* item) {
    m_toggled = item;
    refresh();
  });
  // A click beside the box counts, too.
  connect(m_list, &QListWidget::itemClicked, this, [this](QListWidgetItem* item) {
    if (m_toggled == item) return;
    item->setCheckState(item->checkState() == Qt::Checked ? Qt::Unchecked : Qt::Checked);
  });
  connect(m_again, &QPushButton::clicked, this, [this] {
    Q_EMIT askedAgain(ticked());
    close();
  });
  connect(m_next, &QPushButton::clicked, this, [this] {
    Q_EMIT chosenForNext(ticked());
    close();
  });
  m_list->setFocus();
  refresh();
}

void PartsPopup::showAt(const QPoint& point) {
  adjustSize();
  const QRect place = screen()->availableGeometry();
  const int above = point.y() - height() - kGap;
  const int top = above >= place.top() ? above : point.y() + kGap;
  move(std::clamp(point.x(), place.left(), std::max(place.left(), place.right() - width())), top);
  show();
}

QList<int> PartsPopup::ticked() const {
  QList<int> parts;
  for (int i = 0; i < m_list->count(); ++i)
    if (m_list->item(i)->checkState() == Qt::Checked) parts.append(i);
  return parts;
}

void PartsPopup::refresh() {
  const bool hasSome = !ticked().isEmpty();
  m_again->setEnabled(hasSome && m_canAsk);
  m_next->setEnabled(hasSome);
}

}  // namespace satchel::ui
