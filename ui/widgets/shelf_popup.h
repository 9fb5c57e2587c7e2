// ShelfPopup: documents that chats have read. A new chat can begin with one, at once; it can be
// kept when its chat goes, or removed.
#pragma once

#include <QList>
#include <vector>

#include "runtime/contract/chat_store.h"
#include "ui/widgets/popup.h"

class QListWidget;
class QPushButton;

namespace satchel::ui {

class ShelfPopup : public Popup {
  Q_OBJECT

 public:
  ShelfPopup(const std::vector<runtime::ShelvedDocument>& shelf, QWidget* parent);

  QListWidget* list() { return m_list; }
  QPushButton* beginButton() { return m_begin; }
  QPushButton* keepButton() { return m_keep; }
  QPushButton* removeButton() { return m_remove; }

 Q_SIGNALS:
  void chosen(const QString& id, const QString& title);
  void keepAsked(const QString& id);
  void removeAsked(const QString& id);

 private:
  QString currentId() const;
  void refresh();

  QListWidget* m_list;
  QPushButton* m_begin;
  QPushButton* m_keep;
  QPushButton* m_remove;
};

}  // namespace satchel::ui
