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

QString noteOf(const DeletedList& deleted) {
  return deleted.chats.isEmpty() && deleted.copies.isEmpty()
             ? DeletedChatsPopup::tr("There are none.")
             : DeletedChatsPopup::tr("They are kept for 30 days at least.");
}

bool isChat(const QListWidgetItem* item) {
  return item != nullptr && item->data(Qt::UserRole).typeId() == QMetaType::LongLong;
}

}  // namespace

DeletedChatsPopup::DeletedChatsPopup(const DeletedList& deleted, QWidget* parent)
    : Popup(tr("Deleted chats"), noteOf(deleted), parent),
      m_list(new QListWidget(this)),
      m_restore(new QPushButton(tr("Restore"), this)),
      m_delete(new QPushButton(this)) {
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setAccessibleName(accessibleName());
  for (const ChatEntry& chat : deleted.chats) {
    const QString age = formatAge(deleted.nowMs - chat.changed.toMSecsSinceEpoch());
    add(tr("%1 · %2").arg(chat.title, age), chat.id, chat.title);
  }
  for (const CopyEntry& copy : deleted.copies)
    add(tr("Copy before an update · %1 · %2")
            .arg(formatBytes(static_cast<quint64>(copy.bytes)),
                 formatAge(deleted.nowMs - copy.writtenMs)),
        copy.name,
        tr("%1, which an update of Satchel left. It has the words of all chats of that day, those "
           "deleted since too.")
            .arg(copy.name));
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
    button->setVisible(m_list->count() > 0);
  }
  connect(m_list, &QListWidget::currentRowChanged, this, [this] { setSure(false); });
  connect(m_restore, &QPushButton::clicked, this, [this] {
    if (isChat(m_list->currentItem())) Q_EMIT restoreAsked(take().toLongLong());
  });
  connect(m_delete, &QPushButton::clicked, this, &DeletedChatsPopup::deleteIfSure);
  m_list->setCurrentRow(0);
  m_list->setFocus();
  setSure(false);
}

void DeletedChatsPopup::add(const QString& text, const QVariant& key, const QString& tip) {
  auto* item = new QListWidgetItem(text, m_list);
  item->setData(Qt::UserRole, key);
  item->setToolTip(tipText(tip));
}

QVariant DeletedChatsPopup::take() {
  const std::unique_ptr<QListWidgetItem> item(m_list->takeItem(m_list->currentRow()));
  setSure(false);
  if (m_list->count() == 0) close();
  return item->data(Qt::UserRole);
}

void DeletedChatsPopup::deleteIfSure() {
  if (!m_isSure) return setSure(true);
  const QListWidgetItem* const item = m_list->currentItem();
  if (item == nullptr || !m_sureSince.hasExpired(QApplication::doubleClickInterval())) return;
  const bool isOfChat = isChat(item);
  const QVariant key = take();
  isOfChat ? Q_EMIT deleteAsked(key.toLongLong()) : Q_EMIT deleteCopyAsked(key.toString());
}

void DeletedChatsPopup::setSure(bool isSure) {
  m_isSure = isSure;
  if (isSure) m_sureSince.start();
  m_delete->setEnabled(m_list->currentItem() != nullptr);
  m_restore->setEnabled(isChat(m_list->currentItem()));
  m_delete->setText(isSure ? tr("Delete for good?") : tr("Delete now"));
}

}  // namespace satchel::ui
