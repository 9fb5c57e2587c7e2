// DeletedChatsPopup: the chats that were deleted and are still kept, and below them the copies of
// all chats that updates left, which have their words too. A chat can be brought back; both can be
// deleted for good, which is asked twice: a double-click does not answer.
#pragma once

#include <QElapsedTimer>
#include <QList>
#include <QVariant>

#include "ui/model/engine_types.h"
#include "ui/widgets/popup.h"

class QListWidget;
class QPushButton;

namespace satchel::ui {

class DeletedChatsPopup : public Popup {
  Q_OBJECT

 public:
  DeletedChatsPopup(const DeletedList& deleted, QWidget* parent);

  QListWidget* list() { return m_list; }
  QPushButton* restoreButton() { return m_restore; }
  QPushButton* deleteButton() { return m_delete; }

 Q_SIGNALS:
  void restoreAsked(satchel::ui::ChatKey chat);
  void deleteAsked(satchel::ui::ChatKey chat);
  void deleteCopyAsked(const QString& name);

 private:
  void add(const QString& text, const QVariant& key, const QString& tip);
  // Takes the current row off the list and returns its key: a chat's, or a copy's name.
  QVariant take();
  void deleteIfSure();
  void setSure(bool isSure);

  QListWidget* m_list;
  QPushButton* m_restore;
  QPushButton* m_delete;
  bool m_isSure = false;      // the next click deletes
  QElapsedTimer m_sureSince;  // a click too soon after belongs to the first
};

}  // namespace satchel::ui
