// DeletedChatsPopup: the chats that were deleted and are still kept. One can be brought back, or
// deleted for good, which is asked twice: a double-click does not answer.
#pragma once

#include <QElapsedTimer>
#include <QList>

#include "ui/model/engine_types.h"
#include "ui/widgets/popup.h"

class QListWidget;
class QPushButton;

namespace satchel::ui {

class DeletedChatsPopup : public Popup {
  Q_OBJECT

 public:
  // changed: when each was deleted. nowMs: since 1970
  DeletedChatsPopup(const QList<ChatEntry>& chats, qint64 nowMs, QWidget* parent);

  QListWidget* list() { return m_list; }
  QPushButton* restoreButton() { return m_restore; }
  QPushButton* deleteButton() { return m_delete; }

 Q_SIGNALS:
  void restoreAsked(satchel::ui::ChatKey chat);
  void deleteAsked(satchel::ui::ChatKey chat);

 private:
  // Takes the current row off the list and asks that of its chat.
  void take(void (DeletedChatsPopup::*asked)(ChatKey));
  void deleteIfSure();
  void setSure(bool isSure);

  QListWidget* m_list;
  QPushButton* m_restore;
  QPushButton* m_delete;
  bool m_isSure = false;      // the next click deletes
  QElapsedTimer m_sureSince;  // a click too soon after belongs to the first
};

}  // namespace satchel::ui
