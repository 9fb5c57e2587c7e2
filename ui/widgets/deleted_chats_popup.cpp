#include "ui/widgets/deleted_chats_popup.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>

#include "ui/model/format.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kPopupWidth = 420;
constexpr int kRowsMax = 8;  // more are scrolled to

QString noteOf(const QList<ChatEntry>& chats) {
  return chats.isEmpty() ? DeletedChatsPopup::tr("There are none.")
                         : DeletedChatsPopup::tr("They are kept for 30 days at least.");
}

}  // namespace

DeletedChatsPopup::DeletedChatsPopup(const QList<ChatEntry>& chats, qint64 nowMs, QWidget* parent)
    : Popup(tr("Deleted chats"), noteOf(chats), parent),
      m_list(new QListWidget(this)),
      m_restore(new QPushButton(tr("Restore"), this)),
      m_delete(new QPushButton(this)) {
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setAccessibleName(accessibleName());
  for (const ChatEntry& chat : chats) {
    const QString age = formatAge(nowMs - chat.changed.toMSecsSinceEpoch());
    auto* item = new QListWidgetItem(tr("%1 · %2").arg(chat.title, age), m_list);
    item->setData(Qt::UserRole, chat.id);
    item->setToolTip(tipText(chat.title));
  }
  const int row = m_list->count() > 0 ? m_list->sizeHintForRow(0) : 0;
  m_list->setFixedHeight(row * std::min(m_list->count(), kRowsMax) + 2);
  m_restore->setObjectName(QStringLiteral("primary"));
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addWidget(m_delete);
  buttons->addStretch();
  buttons->addWidget(m_restore);
  column()->addWidget(m_list);
  column()->addSpacing(kGap);
  column()->addLayout(buttons);
  setFixedWidth(kPopupWidth);
  for (QPushButton* button : {m_restore, m_delete}) {
    button->setCursor(Qt::PointingHandCursor);
    button->setVisible(!chats.isEmpty());
  }
  connect(m_list, &QListWidget::currentRowChanged, this, [this] { setSure(false); });
  connect(m_restore, &QPushButton::clicked, this,
          [this] { take(&DeletedChatsPopup::restoreAsked); });
  connect(m_delete, &QPushButton::clicked, this, &DeletedChatsPopup::deleteIfSure);
  m_list->setCurrentRow(0);
  m_list->setFocus();
  setSure(false);
}

void DeletedChatsPopup::take(void (DeletedChatsPopup::*asked)(ChatKey)) {
  const std::unique_ptr<QListWidgetItem> item(m_list->takeItem(m_list->currentRow()));
  setSure(false);
  if (item == nullptr) return;
  if (m_list->count() == 0) close();
  Q_EMIT(this->*asked)(item->data(Qt::UserRole).toLongLong());
}

void DeletedChatsPopup::deleteIfSure() {
  if (!m_isSure) return setSure(true);
  if (m_sureSince.hasExpired(QApplication::doubleClickInterval()))
    take(&DeletedChatsPopup::deleteAsked);
}

void DeletedChatsPopup::setSure(bool isSure) {
  m_isSure = isSure;
  if (isSure) m_sureSince.start();
  for (QPushButton* button : {m_restore, m_delete}) button->setEnabled(m_list->currentRow() >= 0);
  m_delete->setText(isSure ? tr("Delete for good?") : tr("Delete now"));
}

}  // namespace satchel::ui
