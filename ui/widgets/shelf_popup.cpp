#include "ui/widgets/shelf_popup.h"

#include <QHBoxLayout>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/model/shelf_text.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kShelfWidth = 460;
constexpr int kRowsMax = 8;  // more are scrolled to
enum ShelfRole { kIdRole = Qt::UserRole, kKeptRole, kTitleRole };

QString noteOf(bool isEmpty) {
  return isEmpty ? ShelfPopup::tr(
                       "Documents that a chat begins with stand here once they have been "
                       "read. There are none yet.")
                 : ShelfPopup::tr(
                       "They have been read: a new chat has them at once. Those that you "
                       "keep stay when their chat is deleted.");
}

}  // namespace

ShelfPopup::ShelfPopup(const std::vector<runtime::ShelvedDocument>& shelf, QWidget* parent)
    : Popup(tr("Shelf"), noteOf(shelf.empty()), parent),
      m_list(new QListWidget(this)),
      m_begin(new QPushButton(tr("Begin with it"), this)),
      m_keep(new QPushButton(tr("Keep"), this)),
      m_remove(new QPushButton(tr("Remove"), this)) {
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setAccessibleName(accessibleName());
  for (const runtime::ShelvedDocument& document : shelf) {
    auto* item = new QListWidgetItem(shelfRow(document), m_list);
    item->setData(kIdRole, textOf(document.hash));
    item->setData(kKeptRole, document.is_kept);
    item->setData(kTitleRole, textOf(document.title));
    item->setToolTip(tipText(shelfDetails(document)));
  }
  const int row = m_list->count() > 0 ? m_list->sizeHintForRow(0) : 0;
  m_list->setFixedHeight(row * std::min(m_list->count(), kRowsMax) + 2);
  m_begin->setObjectName(QStringLiteral("primary"));
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addWidget(m_remove);
  buttons->addWidget(m_keep);
  buttons->addStretch();
  buttons->addWidget(m_begin);
  column()->addWidget(m_list);
  column()->addSpacing(kGap);
  column()->addLayout(buttons);
  setFixedWidth(kShelfWidth);
  for (QPushButton* button : {m_begin, m_keep, m_remove}) {
    button->setCursor(Qt::PointingHandCursor);
    button->setVisible(!shelf.empty());
  }
  connect(m_list, &QListWidget::currentRowChanged, this, &ShelfPopup::refresh);
  const auto begin = [this] {
    const QString title = m_list->currentItem()->data(kTitleRole).toString();
    Q_EMIT chosen(currentId(), title);
    close();
  };
  connect(m_begin, &QPushButton::clicked, this, begin);
  connect(m_list, &QListWidget::itemActivated, this, begin);
  connect(m_keep, &QPushButton::clicked, this, [this] {
    Q_EMIT keepAsked(currentId());
    close();
  });
  connect(m_remove, &QPushButton::clicked, this, [this] {
    Q_EMIT removeAsked(currentId());
    close();
  });
  m_list->setCurrentRow(0);
  m_list->setFocus();
  refresh();
}

QString ShelfPopup::currentId() const {
  const QListWidgetItem* item = m_list->currentItem();
  return item != nullptr ? item->data(kIdRole).toString() : QString();
}

void ShelfPopup::refresh() {
  const QListWidgetItem* item = m_list->currentItem();
  for (QPushButton* button : {m_begin, m_remove}) button->setEnabled(item != nullptr);
  m_keep->setEnabled(item != nullptr && !item->data(kKeptRole).toBool());
}

}  // namespace satchel::ui
