#include "ui/widgets/parts_popup.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QListWidget>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kPopupWidth = 480;  // at least
constexpr int kPartRowsMax = 8;   // more are scrolled to
constexpr double kBox = 16, kNumber = 30;
constexpr int kTagRole = Qt::UserRole;  // what is said of the part, at its end

// A box to tick, the number, the words. A click anywhere ticks.
class PartDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const Theme& theme = themeOf(option.palette);
    const bool isTicked = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
    const QRectF row(option.rect);
    const QRectF box(row.left() + 5, row.center().y() - kBox / 2, kBox, kBox);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if ((option.state & (QStyle::State_HasFocus | QStyle::State_MouseOver)) != 0) {
      painter->setPen(Qt::NoPen);
      painter->setBrush(theme.surface);
      painter->drawRoundedRect(row.adjusted(0, 1, -4, -1), 6, 6);
    }
    painter->setPen(QPen(isTicked ? theme.accent : theme.muted, 1.2));
    painter->setBrush(isTicked ? theme.accent : theme.base);
    painter->drawRoundedRect(box, 4, 4);
    if (isTicked) {
      painter->setPen(QPen(theme.onAccent, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
      painter->drawPolyline(
          QPolygonF({box.center() + QPointF(-4, 0), box.center() + QPointF(-1, 3.5),
                     box.center() + QPointF(4, -3.5)}));
    }
    painter->setFont(option.font);
    painter->setPen(theme.muted);
    const QRectF number(box.right() + 2, row.top(), kNumber, row.height());
    painter->drawText(number, Qt::AlignRight | Qt::AlignVCenter, QString::number(index.row() + 1));
    QRectF words = row.adjusted(number.right() + 10 - row.left(), 0, -10, 0);
    if (const QString tag = index.data(kTagRole).toString(); !tag.isEmpty()) {
      painter->setFont(scaledFont(option.font, 0.86));
      painter->drawText(words, Qt::AlignRight | Qt::AlignVCenter, tag);
      words.setRight(words.right() - painter->fontMetrics().horizontalAdvance(tag) - 10);
      painter->setFont(option.font);
    }
    painter->setPen(theme.text);
    const QString text = index.data().toString();
    painter->drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetricsF(option.font).elidedText(text, Qt::ElideRight, words.width()));
    painter->restore();
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
    return {120, option.fontMetrics.height() + 12};
  }

  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem&,
                   const QModelIndex& index) override {
    const bool isSpace =
        event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space;
    if (event->type() != QEvent::MouseButtonRelease && !isSpace) return false;
    const bool isTicked = index.data(Qt::CheckStateRole).toInt() == Qt::Checked;
    return model->setData(index, isTicked ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
  }
};

}  // namespace

PartsPopup::PartsPopup(const PartsShown& shown, QWidget* parent)
    : Popup(tr("Parts of the older chat"), partsNote(shown), parent),
      m_list(new QListWidget(this)),
      m_again(new QPushButton(tr("Ask again with these"), this)),
      m_next(new QPushButton(tr("Use for the next question"), this)),
      m_all(new QPushButton(tr("Ask all parts"), this)),
      m_canAskAgain(shown.canAsk && shown.canAskAgain) {
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setSelectionMode(QAbstractItemView::NoSelection);
  m_list->setItemDelegate(new PartDelegate(m_list));
  m_list->setAccessibleName(accessibleName());
  for (int i = 0; i < int(shown.parts.parts.size()); ++i) {
    const runtime::OlderPart& part = shown.parts.parts[std::size_t(i)];
    const QString words = textOf(part.beginning), tag = partTag(shown, i);
    auto* item = new QListWidgetItem(words, m_list);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsUserCheckable | Qt::ItemIsSelectable);
    item->setCheckState(shown.seen.contains(i) ? Qt::Checked : Qt::Unchecked);
    item->setToolTip(tr("%1 tokens").arg(formatCount(qint64(part.n_tokens))));
    item->setData(kTagRole, tag);
    if (!tag.isEmpty()) item->setData(Qt::AccessibleTextRole, words + QStringLiteral(", ") + tag);
  }
  const int row = m_list->count() > 0 ? m_list->sizeHintForRow(0) : 0;
  m_list->setFixedHeight(row * std::clamp(m_list->count(), 1, kPartRowsMax) + 2);
  if (!shown.seen.isEmpty() && shown.seen.front() < m_list->count())
    m_list->scrollToItem(m_list->item(shown.seen.front()));
  for (QPushButton* button : {m_again, m_next, m_all}) button->setCursor(Qt::PointingHandCursor);
  m_again->setObjectName(QStringLiteral("primary"));
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addWidget(m_all);
  buttons->addStretch();
  buttons->addWidget(m_next);
  buttons->addWidget(m_again);
  column()->addWidget(m_list);
  column()->addSpacing(kGap);
  column()->addLayout(buttons);
  const QMargins around = column()->contentsMargins();
  setFixedWidth(
      std::max(kPopupWidth, buttons->sizeHint().width() + around.left() + around.right()));
  connect(m_list, &QListWidget::itemChanged, this, &PartsPopup::refresh);
  connect(m_again, &QPushButton::clicked, this, [this] {
    Q_EMIT askedAgain(ticked());
    close();
  });
  connect(m_next, &QPushButton::clicked, this, [this] {
    Q_EMIT chosenForNext(ticked());
    close();
  });
  connect(m_all, &QPushButton::clicked, this, [this] {
    Q_EMIT askedOfAll();
    close();
  });
  m_all->setEnabled(shown.canAsk && !shown.question.isEmpty());
  m_all->setToolTip(shown.question.isEmpty() ? tr("Write a question first (Ctrl+Shift+A)")
                                             : tr("Ask each part by itself (Ctrl+Shift+A): %1")
                                                   .arg(shown.question.simplified().left(120)));
  m_list->setFocus();
  refresh();
}

QList<int> PartsPopup::ticked() const {
  QList<int> parts;
  for (int i = 0; i < m_list->count(); ++i)
    if (m_list->item(i)->checkState() == Qt::Checked) parts.append(i);
  return parts;
}

void PartsPopup::refresh() {
  const bool hasSome = !ticked().isEmpty();
  m_again->setEnabled(hasSome && m_canAskAgain);
  m_next->setEnabled(hasSome);
}

}  // namespace satchel::ui
